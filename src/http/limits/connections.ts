// Bounds how many connections there are, and how long one may be owed nothing. When there are too many, the
// one goes that has been so for the longest time: who is slow, idle or gone makes room for who has something to ask.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ANSWERED } from '../responses/answer.ts'
import { hasBody } from '../requests/read-body.ts'

/** One line for all that were closed meanwhile: they may be thousands. */
const TELL_EACH_MS = 1_000

interface Bounds {
  /** How many connections there may be. */
  readonly most: number
  /** How long one may ask nothing, and have taken its answers. */
  readonly idleMaxMs: number
  /** How often that is looked at. */
  readonly checkIntervalMs: number
}

/**
 * Keeps the server within the bounds. One whose request has arrived is not closed before that is
 * answered; one that has yet to take its answer may be. Returns what has to be told of each request that is begun.
 */
export function limitConnections(server: Server, bounds: Bounds, log: Logger) {
  /** Those that are owed nothing, and since when; the longest so first. */
  const idle = new Map<Socket, number>()
  const tellOfClosed = createTeller(log)
  let open = 0

  const becomeIdle = (socket: Socket): void => {
    idle.delete(socket)
    if (!socket.destroyed) idle.set(socket, performance.now())
  }
  closeIdle(server, idle, bounds)
  server.on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
      idle.delete(socket)
    })
    becomeIdle(socket)
    if (open <= bounds.most) return
    const [longest = socket] = idle.keys()
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
      becomeIdle(socket)
    }
    // With the one it has its answer, with the other that is taken.
    response.once(ANSWERED, settle).once('close', settle)
    if (!hasBody(request)) return owe()
    // How long its body takes to arrive is up to its client.
    becomeIdle(socket)
    request.once('end', owe)
  }
}

/**
 * Node sees to it that headers end once they have begun. Empty lines begin none, and may stand before any:
 * whoever sends nothing else would stay for ever.
 */
function closeIdle(server: Server, idle: ReadonlyMap<Socket, number>, bounds: Bounds): void {
  const checking = setInterval(() => {
    const idleSinceMax = performance.now() - bounds.idleMaxMs
    for (const [socket, since] of idle) {
      if (since > idleSinceMax) return
      if (socket.writableLength === 0) socket.destroy()
    }
  }, bounds.checkIntervalMs).unref()
  server.once('close', () => clearInterval(checking))
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
