// Sends requests over several connections, one request at a time on each.
import { Connection, NoReplyError, type Reply } from './connection.ts'
import type { Draft, Names } from './draft.ts'
import { renderRequest } from './render.ts'

/** The result of a request: its answer, or the reason why there is none. */
export type Result = Reply | NoReplyError

/** Enough to keep the API busy, and far below its limit of connections. */
const CONNECTIONS = 16

export interface Target {
  readonly url: string
  readonly names: Names
}

/** Sends one request over a new connection. */
export async function sendOne(target: Target, draft: Draft): Promise<Result> {
  const [result] = await sendAll(target, [draft])
  if (result === undefined) throw new Error('the request has no result')
  return result
}

/**
 * Sends all requests. Returns the results in the same order.
 *
 * @param onProgress how many are done.
 * @throws Error if the API refuses a connection.
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
