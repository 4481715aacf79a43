// Reads DATABASE_URL, and the certificates that it names. Every connection of the service is opened with
// the result, so that each parameter means the same everywhere: what it means for libpq. One that the
// service cannot honour is refused. Without `sslmode` nothing is encrypted: libpq's `prefer` would not
// stop an attacker who changes what is sent, and costs each connection a round trip.
import { X509Certificate } from 'node:crypto'
import {
  createSecureContext,
  getCACertificates,
  type ConnectionOptions,
  type SecureContextOptions,
} from 'node:tls'
import { parse } from 'pg-connection-string'
import { z } from 'zod'
import { ConfigError } from './config-formats.ts'

export interface Host {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
}

export interface Tls {
  /**
   * `disable`: not encrypted. `prefer`: encrypted if the server can. `require`: always encrypted,
   * and nothing is verified. `verify-ca`: by a certificate of the CA. `verify-full`: by one for this
   * host.
   *
   * @see https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS
   */
  readonly mode: 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'
  readonly options: ConnectionOptions
}

export interface DatabaseUrl {
  /** In the order of the URL; at least one. */
  readonly hosts: readonly [Host, ...Host[]]
  /** The driver's defaults apply to what is missing: the user of the system, a database of its name. */
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  readonly tls: Tls
  /** Whether the primary has to be found among the hosts. */
  readonly onlyPrimary: boolean
  readonly connectTimeoutMs: number | undefined
  /** Settings for the server, as command-line options: `-c work_mem=8MB`. */
  readonly options: string | undefined
}

/**
 * The parameters that the service takes.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
const parametersSchema = z
  .strictObject({
    host: z.string(),
    port: z.string(),
    user: z.string(),
    password: z.string(),
    dbname: z.string(),
    /** 0 means the default, as an absent parameter. */
    connect_timeout: z.coerce.number().int().min(0).max(3_600),
    options: z.string(),
    client_encoding: z.literal(['UTF8', 'utf8', 'auto']),
    sslmode: z.enum(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']),
    sslrootcert: z.string().min(1),
    sslcert: z.string().min(1),
    sslkey: z.string().min(1),
    sslpassword: z.string(),
    sslnegotiation: z.literal('postgres', { error: 'must be postgres' }),
    channel_binding: z.enum(['disable', 'prefer', 'require']),
    gssencmode: z.literal(['disable', 'prefer'], {
      error: 'must be disable or prefer: there is no GSSAPI',
    }),
    target_session_attrs: z.enum(['any', 'read-write', 'primary'], {
      error: 'must be any, read-write or primary, because the service writes',
    }),
  })
  .partial()

type Parameters = z.infer<typeof parametersSchema>

export type DatabaseUrlParameter = keyof Parameters

/** What to do instead, for parameters that a reader may expect here. */
const HINTS: Readonly<Record<string, string>> = {
  application_name: 'each process sets its own name, by which the service finds its sessions',
  ssl: 'use sslmode',
  hostaddr: 'use host',
}

const DEFAULT_HOST = 'localhost'

const SHAPE =
  /^postgres(?:ql)?:\/\/(?<user>(?:[^/?#\s]*@)?)(?<hosts>[^@/?#\s]*)(?<database>(?:\/[^/?#\s]*)?)(?:\?(?<query>(?:&|\w+=[^#@&\s]*(?:&|$))*))?$/
const WRONG_SHAPE =
  'must be postgres://user:password@host:port/database?parameter=value, with an IPv6 address in ' +
  'brackets. In a user and a password, write : / ? # @ % as %3A %2F %3F %23 %40 %25'

/** The value of `sslrootcert` that stands for the CAs of the system. */
const SYSTEM = 'system'

/** @throws ConfigError that names the parameter, but never a value: it may be a part of the password. */
export function parseDatabaseUrl(url: string): DatabaseUrl {
  const parts = SHAPE.exec(url)?.groups
  if (parts === undefined || !isDecodable(url)) return refuseUrl(WRONG_SHAPE)
  const { user = '', hosts: listed = '', database = '', query = '' } = parts
  const parameters = readParameters(query)
  const hosts = readHosts(user, listed, parameters)
  const mode = chooseMode(parameters)
  refuseContradictions(parameters, mode, hosts)
  const named = parsePart(`${user}${DEFAULT_HOST}${database}`)
  return {
    hosts,
    user: parameters.user ?? (named.user || undefined),
    password: parameters.password ?? (named.password || undefined),
    database: parameters.dbname ?? (named.database || undefined),
    tls: { mode, options: readTlsOptions(parameters, mode) },
    // The service writes, so it needs the primary of several hosts.
    onlyPrimary: hosts.length > 1 || (parameters.target_session_attrs ?? 'any') !== 'any',
    connectTimeoutMs: (parameters.connect_timeout ?? 0) * 1_000 || undefined,
    options: parameters.options,
  }
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

function parsePart(text: string) {
  try {
    return parse(`postgres://${text}`, { useLibpqCompat: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // A file that cannot be read is named, and no other part of the URL.
    return refuseUrl(code === 'ERR_INVALID_URL' ? WRONG_SHAPE : message)
  }
}

function readParameters(query: string): Parameters {
  // Unlike in the query of a web address, a plus sign is not a space.
  const entries = [...new URLSearchParams(query.replaceAll('+', '%2B'))]
  const twice = Object.entries(Object.groupBy(entries, ([name]) => name)).find(
    ([, values = []]) => values.length > 1,
  )
  if (twice !== undefined) return refuseUrl(`has ${twice[0]} twice`)
  const result = parametersSchema.safeParse(Object.fromEntries(entries))
  return result.success ? result.data : refuseUrl(result.error.issues.map(describe).join('; '))
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'unrecognized_keys') return `${issue.path.join('.')}: ${issue.message}`
  const described = issue.keys.map((name) => {
    const hint = Object.hasOwn(HINTS, name) ? `: ${HINTS[name]}` : ''
    return `the parameter ${name} is not supported${hint}`
  })
  return described.join('; ')
}

/** The package knows one host. The parameters `host` and `port` replace those of the URL. */
function readHosts(
  user: string,
  listed: string,
  { host, port }: Parameters,
): readonly [Host, ...Host[]] {
  const places =
    host === undefined
      ? listed.split(',').map((text) => parsePart(user + text.replace(/^(?=:|$)/, DEFAULT_HOST)))
      : host.split(',').map((name) => ({ host: name, port: '' }))
  const ports = port?.split(',') ?? []
  if (ports.length > 1 && ports.length !== places.length) {
    return refuseUrl('port: must be one port, or one for each host')
  }
  const hosts = places.map((place, index) => ({
    host: place.host || DEFAULT_HOST,
    port: readPort(ports.at(ports.length > 1 ? index : 0) || place.port || '5432'),
  }))
  return hosts as [Host, ...Host[]]
}

function readPort(text: string): number {
  const isPort = /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
  return isPort ? Number(text) : refuseUrl('port: must be 1 to 65535')
}

/** libpq takes a host that begins with a slash for the folder of a Unix socket. */
export const isSocketFolder = (host: string): boolean => host.startsWith('/')

/**
 * `allow` is read as `prefer`: whether the server refuses an unencrypted connection shows only after
 * the driver has sent its first message, and then it cannot begin anew. `channel_binding=require` asks
 * for SCRAM-SHA-256-PLUS, which the driver does not have. It protects against a server in the middle
 * that passes the log-in on. A verified certificate for the host protects against the same.
 */
function chooseMode({ sslmode, sslrootcert, channel_binding }: Parameters): Tls['mode'] {
  const isFull = channel_binding === 'require' || (sslrootcert === SYSTEM && sslmode === undefined)
  if (isFull) return 'verify-full'
  if (sslmode === 'require' && sslrootcert !== undefined) return 'verify-ca'
  return sslmode === 'allow' ? 'prefer' : (sslmode ?? 'disable')
}

function refuseContradictions(
  { sslmode, sslrootcert, sslcert, sslkey, sslpassword, channel_binding }: Parameters,
  mode: Tls['mode'],
  hosts: readonly Host[],
): void {
  const isLocal = hosts.some(({ host }) => isSocketFolder(host))
  if (channel_binding === 'require' && (sslmode === 'disable' || isLocal)) {
    refuseUrl('channel_binding: require needs TLS, which a Unix socket does not have')
  }
  // As libpq: every server can get a certificate of a public CA, for its own name.
  if (sslrootcert === SYSTEM && mode !== 'verify-full') {
    refuseUrl('sslrootcert: system needs sslmode=verify-full')
  }
  if (sslrootcert !== undefined && !isVerified(mode)) {
    refuseUrl('sslrootcert: needs sslmode=require, verify-ca or verify-full')
  }
  const client = [sslcert, sslkey, sslpassword].filter((value) => value !== undefined)
  const isComplete = sslcert !== undefined && sslkey !== undefined && mode !== 'disable'
  if (client.length > 0 && !isComplete) {
    refuseUrl('sslcert and sslkey: each needs the other, and an sslmode that encrypts')
  }
}

const isVerified = (mode: Tls['mode']): boolean => mode.startsWith('verify-')

/** Reads the certificates, once for all connections. */
function readTlsOptions(
  { sslrootcert = SYSTEM, sslcert, sslkey, sslpassword: passphrase }: Parameters,
  mode: Tls['mode'],
): ConnectionOptions {
  const files = {
    ...(isVerified(mode) && sslrootcert !== SYSTEM && { sslrootcert }),
    ...(sslcert !== undefined && sslkey !== undefined && { sslcert, sslkey }),
  }
  const query = new URLSearchParams({ sslmode: mode, ...files })
  const { ca, cert, key, ...checks } = (parsePart(`?${query.toString()}`).ssl || {}) as ReadTls
  const uses = {
    // Node would ignore a text that is no certificate, and then refuse each connection.
    sslrootcert: () => ca && new X509Certificate(ca),
    sslcert: () => createSecureContext({ cert }),
    sslkey: () => createSecureContext({ cert, key, passphrase }),
  }
  for (const [parameter, use] of Object.entries(uses)) {
    try {
      use()
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? 'unknown format'
      refuseUrl(`${parameter}: its file cannot be used (${reason})`)
    }
  }
  const roots = isVerified(mode) ? (ca ?? readSystemRoots()) : undefined
  return { secureContext: createSecureContext({ ca: roots, cert, key, passphrase }), ...checks }
}

/** Node's own list, with the certificates of NODE_EXTRA_CA_CERTS, and the list of the system. */
const readSystemRoots = () => [...getCACertificates('default'), ...getCACertificates('system')]

/** What the package reads from files, and how it has Node check the server. */
type ReadTls = Pick<SecureContextOptions, 'cert' | 'key' | 'passphrase'> & {
  readonly ca?: string
}

function refuseUrl(reason: string): never {
  throw new ConfigError(`Wrong settings in the environment:\n  DATABASE_URL: ${reason}`)
}
