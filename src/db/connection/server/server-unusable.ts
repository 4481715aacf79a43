// The error of a server that cannot be used: out of reach, without TLS, or no primary.
import { isSocketFolder, type Host } from './database-url.ts'

export class ServerUnusable extends Error {
  override name = 'ServerUnusable'
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }

  /** Lists why each host cannot be used. */
  static ofHosts(
    code: string,
    message: string,
    hosts: readonly Host[],
    errors: readonly Error[],
  ): ServerUnusable {
    const reasons = errors.map((error, index) => {
      const host = hosts[index]
      return `${host ? nameOf(host) : ''}: ${error.message || codeOf(error)}`
    })
    return new ServerUnusable(code, `${message} (${reasons.join('; ')})`, errors[0])
  }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name
}

export function nameOf({ host, port }: Host): string {
  if (isSocketFolder(host)) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
