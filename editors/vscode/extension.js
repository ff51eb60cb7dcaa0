// Starts the language server for programs, and stops it with the editor.

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("wingspan").get("command");
  client = new LanguageClient(
    "wingspan",
    { command, args: ["lsp"] },
    { documentSelector: [{ language: "wingspan" }] },
  );
  return client.start();
};

exports.deactivate = () => client?.stop();
