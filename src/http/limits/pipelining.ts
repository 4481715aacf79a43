// Serves the requests of one connection one after the other. HTTP requires this for requests that
// change something (RFC 9112 section 9.3.2), and it limits the work for a client that reads no
// answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** How many requests may wait behind the current one: more than honest clients send ahead. */
export const AHEAD_MAX = 100

interface PipelineSlot {
  readonly response: ServerResponse
  readonly work: () => void
}

interface Pipeline {
  readonly waiting: PipelineSlot[]
  /** A request was refused. That answer is the last one on the connection. */
  isFull: boolean
}

/**
 * Runs the work of a request when the client has read the answers to the earlier requests on its
 * connection. Skips it when the connection ends before.
 *
 * @param refuse refuses a request when too many are waiting; it must end the connection.
 */
export function createPipeline(refuse: (response: ServerResponse) => void) {
  const pipelines = new WeakMap<Duplex, Pipeline>()

  const begin = (socket: Duplex, { response, work }: PipelineSlot): void => {
    response.once('close', () => goOn(socket))
    work()
  }
  const goOn = (socket: Duplex): void => {
    const next = pipelines.get(socket)?.waiting.shift()
    if (next === undefined || !socket.writable) pipelines.delete(socket)
    else begin(socket, next)
  }
  return ({ socket }: IncomingMessage, response: ServerResponse, work: () => void): void => {
    const pipeline = pipelines.get(socket)
    if (pipeline === undefined) {
      pipelines.set(socket, { waiting: [], isFull: false })
      return begin(socket, { response, work })
    }
    pipeline.isFull ||= pipeline.waiting.length >= AHEAD_MAX
    if (pipeline.isFull) refuse(response)
    else pipeline.waiting.push({ response, work })
  }
}
