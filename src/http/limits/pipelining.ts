// Has the requests of one connection worked on one after the other, as HTTP wants it for those that change
// something (RFC 9112 section 9.3.2). A client that sends many and reads nothing is owed one answer at a time.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** How many may wait behind the one that is worked on: more than honest clients send ahead. */
export const AHEAD_MAX = 100

interface PipelineSlot {
  readonly response: ServerResponse
  readonly work: () => void
}

interface Line {
  readonly waiting: PipelineSlot[]
  /** Somebody was refused: the answer to that is the last one on the connection. */
  isFull: boolean
}

/**
 * Does the work of a request when those before it on its connection have taken their answers, and not at all
 * when the connection ends before. Has whoever comes when too many wait refused; that has to end the connection.
 */
export function createPipeline(refuse: (response: ServerResponse) => void) {
  const lines = new WeakMap<Duplex, Line>()

  const begin = (socket: Duplex, { response, work }: PipelineSlot): void => {
    response.once('close', () => goOn(socket))
    work()
  }
  const goOn = (socket: Duplex): void => {
    const next = lines.get(socket)?.waiting.shift()
    if (next === undefined || !socket.writable) lines.delete(socket)
    else begin(socket, next)
  }
  return ({ socket }: IncomingMessage, response: ServerResponse, work: () => void): void => {
    const line = lines.get(socket)
    if (line === undefined) {
      lines.set(socket, { waiting: [], isFull: false })
      return begin(socket, { response, work })
    }
    line.isFull ||= line.waiting.length >= AHEAD_MAX
    if (line.isFull) refuse(response)
    else line.waiting.push({ response, work })
  }
}
