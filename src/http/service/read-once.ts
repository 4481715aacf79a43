// Reads what never changes while the process runs, at the first request that needs it.

/** Reads at the first call and keeps the result; a failure is not kept. */
export function readOnce<Content>(read: () => Promise<Content>): () => Promise<Content> {
  let content: Promise<Content> | undefined
  return async () => {
    content ??= read()
    try {
      return await content
    } catch (error) {
      content = undefined
      throw error
    }
  }
}
