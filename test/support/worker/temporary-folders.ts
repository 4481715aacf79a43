/** Removed after all hooks of the test file that made them. */
export const temporaryFolders: string[] = []
