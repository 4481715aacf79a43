// Sends requests over some connections at a time, each on one that has no other under way.
import { Connection, NoReplyError, type Reply } from './connection.ts'
import type { Draft, Names } from './draft.ts'
import { renderRequest } from './render.ts'

/** What came of a request: an answer, or why there was none. */
export type Result = Reply | NoReplyError

/** Enough to keep the API busy; its places are many more. */
const CONNECTIONS = 16

export interface Target {
  readonly url: string
  readonly names: Names
}

/** Sends one request, over a connection of its own. */
export async function sendOne(target: Target, draft: Draft): Promise<Result> {
  const [result] = await sendAll(target, [draft])
  if (result === undefined) throw new Error('nothing was sent')
  return result
}

/**
 * Sends all, and gives the results in their order.
 *
 * @param onProgress how many are done.
 * @throws Error when the API cannot be connected to.
 */
export async function sendAll(
  target: Target,
  drafts: readonly Draft[],
  onProgress: (done: number) => void = () => {},
  signal?: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = []
  let [next, done] = [0, 0]
  const sendSome = async () => {
    let connection: Connection | undefined
    try {
      for (let index = next++; index < drafts.length; index = next++) {
        signal?.throwIfAborted()
        const draft = drafts[index] as Draft
        if (connection?.isOpen !== true) connection = await Connection.open(target.url)
        results[index] = await exchange(connection, draft, target.names)
        onProgress((done += 1))
      }
    } finally {
      connection?.close()
    }
  }
  const connections = Math.min(CONNECTIONS, drafts.length)
  await Promise.all(Array.from({ length: connections }, sendSome))
  return results
}

async function exchange(connection: Connection, draft: Draft, names: Names): Promise<Result> {
  try {
    return await connection.exchange(draft.method, renderRequest(draft, names))
  } catch (error) {
    if (error instanceof NoReplyError) return error
    throw error
  }
}
