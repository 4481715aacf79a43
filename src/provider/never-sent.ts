// Decides from an error of a connection whether the request was never sent, which proves that the
// provider did not execute it.

/**
 * Codes that mean that no connection was made, so no byte of the request was sent. This holds only
 * if a system call of CONNECTING failed: an established connection can fail with the same codes.
 */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
])

/** The system calls that establish a connection. */
const CONNECTING = new Set(['getaddrinfo', 'connect'])

/** The server did not prove its identity, so the connection was closed before the request. */
const NOT_TRUSTED = new Set([
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
])

/** Whether the request was never sent. Node combines the errors of several addresses into one. */
export function neverSent(failure: unknown): boolean {
  const bundled = memberOf(failure, 'errors')
  if (Array.isArray(bundled)) return bundled.every(neverSent)
  const code = failureCode(failure) ?? ''
  return NOT_TRUSTED.has(code) || (NOT_CONNECTED.has(code) && CONNECTING.has(syscallOf(failure)))
}

/** The code of the failure, such as ECONNREFUSED. */
export function failureCode(failure: unknown): string | undefined {
  const code = memberOf(failure, 'code')
  return typeof code === 'string' ? code : undefined
}

function syscallOf(failure: unknown): string {
  const syscall = memberOf(failure, 'syscall')
  return typeof syscall === 'string' ? syscall : ''
}

function memberOf(failure: unknown, name: string): unknown {
  return (failure as Record<string, unknown> | null | undefined)?.[name]
}
