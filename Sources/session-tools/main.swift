import SessionToolsCommand

Tool.main()
