// Reads the certificates that DATABASE_URL names, once, and prepares the TLS of all connections.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  checkServerIdentity,
  createSecureContext,
  getCACertificates,
  type ConnectionOptions,
} from 'node:tls'
import type { TlsChoice } from './tls-choice.ts'
import { refuseUrl } from './url-error.ts'

export interface TlsSettings {
  /** Whether an unencrypted connection will do when the server has no TLS. */
  readonly isOptional: boolean
  readonly isDirect: boolean
  /** The options for a connection to the host. */
  readonly optionsFor: (host: string) => ConnectionOptions
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Returns undefined when connections are not encrypted.
 *
 * @throws ConfigError that names the parameter and its file, when one cannot be read or used.
 */
export function readTlsSettings(choice: TlsChoice): TlsSettings | undefined {
  const { mode, isDirect, rootFile, client } = choice
  if (mode === 'disable') return undefined
  const isVerified = mode === 'verify-ca' || mode === 'verify-full'
  const secureContext = createSecureContext({
    ...(isVerified && { ca: rootFile === undefined ? systemRoots() : readRoots(rootFile) }),
    ...(client && readClient(client)),
  })
  return {
    isOptional: mode === 'prefer',
    isDirect,
    optionsFor: (host) => ({
      secureContext,
      rejectUnauthorized: isVerified,
      // Node would compare the certificate with "localhost" when the host is an IP address.
      checkServerIdentity: (_, certificate) =>
        mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    }),
  }
}

/** Node's own list, with the certificates of NODE_EXTRA_CA_CERTS, and the list of the system. */
function systemRoots(): string[] {
  return [...getCACertificates('default'), ...getCACertificates('system')]
}

/** Node would ignore a text that is no certificate, and then refuse each connection. */
function readRoots(file: string): string[] {
  const roots = readFile('sslrootcert', file).match(CERTIFICATE) ?? []
  if (roots.length === 0) return refuseUrl(`sslrootcert: ${file} has no certificate (PEM)`)
  for (const root of roots) parse('sslrootcert', file, () => new X509Certificate(root))
  return roots
}

function readClient(client: NonNullable<TlsChoice['client']>) {
  const { certificateFile, keyFile, passphrase } = client
  const cert = readFile('sslcert', certificateFile)
  const key = readFile('sslkey', keyFile)
  parse('sslcert', certificateFile, () => createSecureContext({ cert }))
  const certified = { cert, key, ...(passphrase === undefined ? {} : { passphrase }) }
  parse('sslkey', keyFile, () => createSecureContext(certified))
  return certified
}

function readFile(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    return refuseUrl(`${parameter}: ${file} cannot be read (${codeOf(error)})`)
  }
}

function parse(parameter: string, file: string, use: () => unknown): void {
  try {
    use()
  } catch (error) {
    refuseUrl(`${parameter}: ${file} cannot be used (${codeOf(error)})`)
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown format'
}
