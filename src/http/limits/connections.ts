// Bounds how many connections there are. When there are too many, the one goes that has been owed nothing
// for the longest time: who is slow, idle or gone makes room for who has something to ask.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ANSWERED } from '../answer.ts'
import { hasBody } from '../read-body.ts'

/** One line for all that were closed meanwhile: they may be thousands. */
const TELL_EACH_MS = 1_000

/**
 * Keeps the server to so many connections. One whose request has arrived is not closed before that is
 * answered; one that has yet to take its answer may be. Returns what has to be told of each request that is begun.
 */
export function limitConnections(server: Server, most: number, log: Logger) {
  /** Those that are owed nothing, the longest so first. */
  const idle = new Set<Socket>()
  const tellOfClosed = createTeller(log)
  let open = 0

  const becomeIdle = (socket: Socket): void => {
    idle.delete(socket)
    if (!socket.destroyed) idle.add(socket)
  }
  server.on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
      idle.delete(socket)
    })
    idle.add(socket)
    if (open <= most) return
    const [longest = socket] = idle
    idle.delete(longest)
    longest.destroy()
    tellOfClosed()
  })
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    let isAnswered = false
    const owe = () => {
      if (!isAnswered) idle.delete(socket)
    }
    const settle = () => {
      isAnswered = true
      response.off(ANSWERED, settle).off('close', settle)
      becomeIdle(socket)
    }
    response.once(ANSWERED, settle).once('close', settle)
    if (!hasBody(request)) return owe()
    // How long its body takes to arrive is up to its client.
    becomeIdle(socket)
    request.once('end', owe)
  }
}

function createTeller(log: Logger): () => void {
  let closed = 0
  let telling: NodeJS.Timeout | undefined
  return () => {
    closed += 1
    telling ??= setTimeout(() => {
      log.warn({ closed }, 'too many connections; closed those that were owed nothing')
      closed = 0
      telling = undefined
    }, TELL_EACH_MS).unref()
  }
}
