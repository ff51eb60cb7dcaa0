"""The playground: a page on this machine to write programs in, and to see what can happen in them.

The page is plain JavaScript without a build step. Its editor is a text area over a coloured copy of its text: browsers
bring its keys, its undo and its accessibility, and nothing needs to be loaded. The server is Starlette's, on uvicorn.
"""
