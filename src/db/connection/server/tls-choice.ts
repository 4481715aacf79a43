// Decides from the parameters of DATABASE_URL whether its connections are encrypted, and what is
// verified. The rules are libpq's. Where the driver cannot follow one, the connection is safer than
// with libpq, or the URL is refused. Without `sslmode` nothing is encrypted: libpq's `prefer` would not
// stop an attacker who changes what is sent, and costs each connection a round trip.
import { z } from 'zod'
import { refuseUrl } from './url-error.ts'

/** @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-SSLMODE */
export const tlsParameters = {
  sslmode: z.enum(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']).optional(),
  sslrootcert: z.string().min(1).optional(),
  sslcert: z.string().min(1).optional(),
  sslkey: z.string().min(1).optional(),
  sslpassword: z.string().optional(),
  sslnegotiation: z.enum(['postgres', 'direct']).optional(),
  channel_binding: z.enum(['disable', 'prefer', 'require']).optional(),
}

type TlsParameters = z.infer<z.ZodObject<typeof tlsParameters>>

export interface TlsChoice {
  /**
   * `disable`: not encrypted. `prefer`: encrypted if the server can. `require`: always encrypted,
   * and nothing is verified. `verify-ca`: by a certificate of the CA. `verify-full`: by one for this
   * host.
   *
   * @see https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS
   */
  readonly mode: 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'
  /** Without asking the server first, as PostgreSQL 17 allows. */
  readonly isDirect: boolean
  /** The file with the CAs. By default the CAs of the system. */
  readonly rootFile: string | undefined
  /** The files of the client's certificate and key, and the passphrase of the key. */
  readonly client:
    | { readonly certificateFile: string; readonly keyFile: string; readonly passphrase?: string }
    | undefined
}

/** The value of `sslrootcert` that stands for the CAs of the system. */
const SYSTEM = 'system'

/**
 * `allow` is read as `prefer`: whether the server refuses an unencrypted connection shows only after
 * the driver has sent its first message, and then it cannot begin anew.
 *
 * @throws ConfigError when the parameters contradict one another.
 */
export function chooseTls(parameters: TlsParameters): TlsChoice {
  const { sslrootcert, sslnegotiation } = parameters
  const mode = chooseMode(parameters)
  const isDirect = sslnegotiation === 'direct'
  if (isDirect && (mode === 'disable' || mode === 'prefer')) {
    return refuseUrl('sslnegotiation: direct needs sslmode=require, verify-ca or verify-full')
  }
  const rootFile = sslrootcert === SYSTEM ? undefined : sslrootcert
  return { mode, isDirect, rootFile, client: chooseClient(parameters, mode) }
}

/**
 * `channel_binding=require` asks for SCRAM-SHA-256-PLUS, which the driver does not have. It protects
 * against a server in the middle that passes the log-in on. A verified certificate for the host
 * protects against the same.
 */
function chooseMode({ sslmode, sslrootcert, channel_binding }: TlsParameters): TlsChoice['mode'] {
  if (channel_binding === 'require') {
    if (sslmode === 'disable') {
      return refuseUrl('channel_binding: require needs TLS, which sslmode=disable turns off')
    }
    return 'verify-full'
  }
  if (sslrootcert === SYSTEM) {
    // As libpq: every server can get a certificate of a public CA, for its own name.
    if (sslmode === undefined || sslmode === 'verify-full') return 'verify-full'
    return refuseUrl('sslrootcert: system needs sslmode=verify-full')
  }
  if (sslrootcert !== undefined) {
    // As libpq.
    if (sslmode === 'require') return 'verify-ca'
    if (sslmode !== 'verify-ca' && sslmode !== 'verify-full') {
      return refuseUrl('sslrootcert: needs sslmode=require, verify-ca or verify-full')
    }
  }
  if (sslmode === 'verify-ca' && sslrootcert === undefined) {
    return refuseUrl('sslmode: verify-ca needs sslrootcert, the file with your CA')
  }
  return sslmode === 'allow' ? 'prefer' : (sslmode ?? 'disable')
}

function chooseClient(
  { sslcert, sslkey, sslpassword }: TlsParameters,
  mode: TlsChoice['mode'],
): TlsChoice['client'] {
  if (sslcert === undefined && sslkey === undefined && sslpassword === undefined) return undefined
  if (sslcert === undefined || sslkey === undefined) {
    return refuseUrl('sslcert and sslkey: each needs the other')
  }
  if (mode === 'disable') return refuseUrl('sslcert: needs an sslmode that encrypts')
  const passphrase = sslpassword === undefined ? {} : { passphrase: sslpassword }
  return { certificateFile: sslcert, keyFile: sslkey, ...passphrase }
}
