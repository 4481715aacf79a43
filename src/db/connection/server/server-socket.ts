// Opens the socket of a connection, up to TLS. The driver then logs in over it. The driver could open
// sockets itself, but (postgres 3.4.9) it compares a certificate for an IP address with "localhost",
// says of a server without TLS only that it closed the connection, and after some failures connects
// again without end.
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { isSocketFolder, type Host, type Tls } from '../../../database-url.ts'

/** A server that cannot be used: out of reach, without TLS, or no primary. */
export class ServerUnusable extends Error {
  override name = 'ServerUnusable'
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

export interface SocketOptions {
  readonly tls: Tls
  /** Limits TCP and TLS together. */
  readonly timeoutMs: number
  /** Ends a connection that is being opened. */
  readonly closing: AbortSignal
}

/** @see https://www.postgresql.org/docs/current/protocol-message-formats.html SSLRequest */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** @throws the reason why the host cannot be used. */
export async function openSocket(host: Host, options: SocketOptions): Promise<Socket> {
  const { tls, timeoutMs, closing } = options
  closing.throwIfAborted()
  const isLocal = isSocketFolder(host.host)
  const socket = failUnlessAnswered(
    connect(isLocal ? { path: `${host.host}/.s.PGSQL.${host.port}` } : { ...host }),
  )
  const giveUp = (code: string) =>
    socket.destroy(new ServerUnusable(code, `${nameOf(host)} does not answer`))
  const limit = setTimeout(giveUp, timeoutMs, 'CONNECT_TIMEOUT')
  const close = () => giveUp('CONNECTION_DESTROYED')
  closing.addEventListener('abort', close)
  try {
    await once(socket, 'connect')
    // As with libpq, no sslmode applies to a Unix socket.
    return tls.mode === 'disable' || isLocal ? socket : await secure(socket, host, tls)
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(limit)
    closing.removeEventListener('abort', close)
  }
}

async function secure(socket: Socket, host: Host, { mode, options }: Tls): Promise<Socket> {
  socket.write(SSL_REQUEST)
  const [answered] = (await once(socket, 'data')) as [Buffer]
  const answer = answered.toString('latin1')
  if (answer === 'N' && mode === 'prefer') return failUnlessAnswered(socket)
  if (answer === 'N') {
    throw new ServerUnusable('TLS_FAILED', `${nameOf(host)} has no TLS, which sslmode asks for`)
  }
  // More than the answer was put there by someone who wants it to pass for encrypted (CVE-2021-23222).
  if (answer !== 'S') {
    throw new ServerUnusable('TLS_FAILED', 'the server does not answer as PostgreSQL does')
  }
  const servername = isIP(host.host) === 0 ? { servername: host.host } : {}
  const secured = connectTls({ socket, host: host.host, ...servername, ...options })
  try {
    await once(failUnlessAnswered(secured), 'secureConnect')
    return secured
  } catch (cause) {
    if (cause instanceof ServerUnusable) throw cause
    const reason = (cause as Error).message
    throw new ServerUnusable('TLS_FAILED', `TLS with ${nameOf(host)} failed: ${reason}`, cause)
  }
}

/**
 * Reports a server that closes the connection without an answer to what it gets next, such as a load
 * balancer without a server behind it. The driver (postgres 3.4.9) would connect again and again without
 * a pause, and no statement would fail.
 */
function failUnlessAnswered<Opened extends Socket>(socket: Opened): Opened {
  const fail = () =>
    socket.destroy(
      new ServerUnusable('CONNECTION_CLOSED', 'the server closed the connection without an answer'),
    )
  socket.once('end', fail).once('data', () => socket.off('end', fail))
  // Without a listener, an error that comes after the first one would end the process.
  return socket.on('error', () => {})
}

export function nameOf({ host, port }: Host): string {
  if (isSocketFolder(host)) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
