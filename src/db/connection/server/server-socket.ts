// Opens the socket of a connection, up to TLS. The driver then logs in over it. The driver could open
// sockets itself, but (postgres 3.4.9) it compares a certificate for an IP address with "localhost",
// and takes no Unix socket from a URL.
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { isSocketFolder, type Host } from './database-url.ts'
import { nameOf, ServerUnusable } from './server-unusable.ts'
import type { TlsSettings } from './tls-settings.ts'

export interface SocketOptions {
  readonly tls: TlsSettings | undefined
  /** Limits TCP and TLS together. */
  readonly timeoutMs: number
  /** Ends a connection that is being opened. */
  readonly closing: AbortSignal
}

/** @see https://www.postgresql.org/docs/current/protocol-message-formats.html SSLRequest */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const ACCEPTED = 'S'
const REFUSED = 'N'

/** @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL */
const ALPN = 'postgresql'

/** @throws the reason why the host cannot be used. */
export async function openSocket(host: Host, options: SocketOptions): Promise<Socket> {
  const { tls, timeoutMs, closing } = options
  closing.throwIfAborted()
  const isLocal = isSocketFolder(host.host)
  const socket = connect(isLocal ? { path: `${host.host}/.s.PGSQL.${host.port}` } : { ...host })
  socket.on('error', ignore)
  const giveUp = (code: string) =>
    socket.destroy(new ServerUnusable(code, `${nameOf(host)} does not answer`))
  const limit = setTimeout(giveUp, timeoutMs, 'CONNECT_TIMEOUT')
  const close = () => giveUp('CONNECTION_DESTROYED')
  closing.addEventListener('abort', close)
  try {
    await next(socket, 'connect')
    // As with libpq, no sslmode applies to a Unix socket.
    return tls === undefined || isLocal ? socket : await secure(socket, host, tls)
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(limit)
    closing.removeEventListener('abort', close)
  }
}

async function secure(socket: Socket, host: Host, tls: TlsSettings): Promise<Socket> {
  if (!tls.isDirect && !(await acceptsTls(socket))) {
    if (tls.isOptional) return socket
    throw new ServerUnusable('TLS_FAILED', `${nameOf(host)} has no TLS, which sslmode asks for`)
  }
  const secured = connectTls({
    socket,
    ...tls.optionsFor(host.host),
    // A server name must not be an address.
    ...(isIP(host.host) === 0 && { servername: host.host }),
    ...(tls.isDirect && { ALPNProtocols: [ALPN] }),
  })
  secured.on('error', ignore)
  try {
    await next(secured, 'secureConnect')
  } catch (cause) {
    if (cause instanceof ServerUnusable) throw cause
    const reason = (cause as Error).message
    throw new ServerUnusable('TLS_FAILED', `TLS with ${nameOf(host)} failed: ${reason}`, cause)
  }
  if (tls.isDirect && secured.alpnProtocol !== ALPN) {
    throw new ServerUnusable('TLS_FAILED', `${nameOf(host)} does not take sslnegotiation=direct`)
  }
  return secured
}

async function acceptsTls(socket: Socket): Promise<boolean> {
  socket.write(SSL_REQUEST)
  const [answer] = (await next(socket, 'data')) as [Buffer]
  // More than the answer was put there by someone who wants it to pass for encrypted (CVE-2021-23222).
  const text = answer.toString('latin1')
  if (text === ACCEPTED || text === REFUSED) return text === ACCEPTED
  throw new ServerUnusable('TLS_FAILED', 'the server does not answer as PostgreSQL does')
}

/** Without a listener, an error that comes after the first one would end the process. */
function ignore(): void {}

/** @throws the error of the socket, also when it closes without one. */
async function next(socket: Socket, event: string): Promise<unknown[]> {
  const done = new AbortController()
  const { signal } = done
  const closed = once(socket, 'close', { signal }).then((): never => {
    throw new ServerUnusable('CONNECTION_CLOSED', 'the server closed the connection')
  })
  try {
    return await Promise.race([once(socket, event, { signal }), closed])
  } finally {
    done.abort()
  }
}
