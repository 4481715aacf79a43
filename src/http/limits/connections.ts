// Limits how many connections there are and how long one may be idle. A connection is idle while no
// request is being worked on. When there are too many connections, the one that is idle longest is
// closed.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ANSWERED } from '../responses/answer.ts'
import { hasBody } from '../requests/read-body.ts'

/** One line for all connections closed in this time: there may be thousands. */
const LOG_INTERVAL_MS = 1_000

interface Bounds {
  /** The maximum number of connections. */
  readonly most: number
  /** How long a connection may be idle after its client has read all answers. */
  readonly idleMaxMs: number
  /** The interval between two checks of `idleMaxMs`. */
  readonly checkIntervalMs: number
}

/**
 * Keeps the connections of a server within the bounds. A connection whose request has arrived is
 * not closed before the answer is sent; it may be closed before the client has read the answer.
 *
 * @returns a function to call for each request when its turn begins.
 */
export function limitConnections(server: Server, bounds: Bounds, log: Logger) {
  /** The idle connections and the time since when; the longest idle one comes first. */
  const idle = new Map<Socket, number>()
  const logClosed = createClosedLog(log)
  let open = 0

  const markIdle = (socket: Socket): void => {
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
    markIdle(socket)
    if (open <= bounds.most) return
    const [longestIdle = socket] = idle.keys()
    idle.delete(longestIdle)
    longestIdle.destroy()
    logClosed()
  })
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    let isAnswered = false
    const markBusy = () => {
      if (!isAnswered) idle.delete(socket)
    }
    const end = () => {
      isAnswered = true
      markIdle(socket)
    }
    // ANSWERED: the answer was sent. `close`: the client has read it, or has disconnected.
    response.once(ANSWERED, end).once('close', end)
    if (!hasBody(request)) return markBusy()
    // Idle while the body arrives: the client determines how long that takes.
    markIdle(socket)
    request.once('end', markBusy)
  }
}

/**
 * Closes connections that are idle for too long. Node limits the time of headers only once they
 * have begun. Empty lines may precede them, so a client that sends nothing else could stay forever.
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

function createClosedLog(log: Logger): () => void {
  let closed = 0
  let timer: NodeJS.Timeout | undefined
  return () => {
    closed += 1
    timer ??= setTimeout(() => {
      log.warn({ closed }, 'too many connections; closed the longest idle ones')
      closed = 0
      timer = undefined
    }, LOG_INTERVAL_MS).unref()
  }
}
