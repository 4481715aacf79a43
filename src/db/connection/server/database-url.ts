// Parses DATABASE_URL. Every connection of the service is opened with the result, so that each
// parameter means the same everywhere. The parameters are those of libpq; one that the service
// cannot honour is refused.
import { isIPv6 } from 'node:net'
import { z } from 'zod'
import { chooseTls, tlsParameters, type TlsChoice } from './tls-choice.ts'
import { refuseUrl } from './url-error.ts'

export interface Host {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
}

export interface DatabaseUrl {
  /** In the order of the URL; at least one. */
  readonly hosts: readonly [Host, ...Host[]]
  /** The driver's defaults apply to what is missing: the user of the system, a database of its name. */
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  readonly tls: TlsChoice
  /** Whether the primary has to be found among the hosts. */
  readonly onlyPrimary: boolean
  readonly connectTimeoutMs: number | undefined
  /** Settings for the server, as command-line options: `-c work_mem=8MB`. */
  readonly options: string | undefined
}

const DEFAULT_HOST = 'localhost'
const DEFAULT_PORT = 5432
const PORT_MAX = 65_535

/**
 * The parameters that the service takes.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
const parametersSchema = z.strictObject({
  host: z.string().optional(),
  port: z.string().optional(),
  user: z.string().optional(),
  password: z.string().optional(),
  dbname: z.string().optional(),
  /** 0 means the default, as an absent parameter. */
  connect_timeout: z.coerce.number().int().min(0).max(3_600).optional(),
  options: z.string().optional(),
  client_encoding: z.literal(['UTF8', 'utf8', 'auto']).optional(),
  ...tlsParameters,
  gssencmode: z
    .literal(['disable', 'prefer'], { error: 'must be disable or prefer: there is no GSSAPI' })
    .optional(),
  target_session_attrs: z
    .enum(['any', 'read-write', 'primary'], {
      error: 'must be any, read-write or primary, because the service writes',
    })
    .optional(),
})

type Parameters = z.infer<typeof parametersSchema>

export type DatabaseUrlParameter = keyof Parameters

/** What to do instead, for parameters that a reader may expect here. */
const HINTS: Readonly<Record<string, string>> = {
  application_name: 'each process sets its own name, by which the service finds its sessions',
  ssl: 'use sslmode',
  hostaddr: 'use host',
}

const SHAPE =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:/?#]*)(?::(?<password>[^/?#]*))?@)?(?<hosts>[^@/?#]*)(?:\/(?<database>[^/?#]*))?(?:\?(?<query>[^#@]*))?$/

/** @throws ConfigError that names the parameter, but never a value. */
export function parseDatabaseUrl(url: string): DatabaseUrl {
  const parts = SHAPE.exec(url)?.groups
  if (parts === undefined) {
    return refuseUrl(
      'must be postgres://user:password@host:port/database?parameters. In a user and a password, ' +
        'write : / ? # @ % as %3A %2F %3F %23 %40 %25',
    )
  }
  const { user, password, hosts = '', database, query = '' } = parts
  const parameters = readParameters(query)
  const servers = readHosts(hosts, parameters)
  if (
    parameters.channel_binding === 'require' &&
    servers.some(({ host }) => isSocketFolder(host))
  ) {
    return refuseUrl('channel_binding: require needs TLS, which a Unix socket does not have')
  }
  return {
    hosts: servers,
    user: parameters.user ?? decoded('the user', user),
    password: parameters.password ?? decoded('the password', password),
    database: parameters.dbname ?? decoded('the database', database),
    tls: chooseTls(parameters),
    // The service writes, so it needs the primary of several hosts.
    onlyPrimary: servers.length > 1 || (parameters.target_session_attrs ?? 'any') !== 'any',
    connectTimeoutMs: (parameters.connect_timeout ?? 0) * 1_000 || undefined,
    options: parameters.options,
  }
}

function readParameters(query: string): Parameters {
  const pairs = query.split('&').filter((pair) => pair !== '')
  const entries = pairs.map((pair): [string, string] => {
    const [name = '', value, ...rest] = pair.split('=')
    if (value === undefined) return refuseUrl('has a parameter without a value')
    return [name, decoded(name, [value, ...rest].join('=')) ?? '']
  })
  const names = entries.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return refuseUrl(`has ${twice} twice`)
  const result = parametersSchema.safeParse(Object.fromEntries(entries))
  if (result.success) return result.data
  return refuseUrl(result.error.issues.map(describe).join('; '))
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'unrecognized_keys') return `${issue.path.join('.')}: ${issue.message}`
  const described = issue.keys.map((name) => {
    const hint = Object.hasOwn(HINTS, name) ? `: ${HINTS[name]}` : ''
    return `the parameter ${name} is not supported${hint}`
  })
  return described.join('; ')
}

/** The parameters `host` and `port` replace those of the URL. A Unix socket needs them. */
function readHosts(text: string, { host, port }: Parameters): DatabaseUrl['hosts'] {
  const listed = host === undefined ? text.split(',').map(splitHost) : host.split(',').map(onlyName)
  const ports = (port ?? '').split(',')
  if (ports.length > 1 && ports.length !== listed.length) {
    return refuseUrl('port: must be one port, or one for each host')
  }
  const [first, ...others] = listed.map(({ name, port: own }, index) => ({
    host: checkHost(name === '' ? DEFAULT_HOST : name),
    port: readPort((port === undefined ? own : ports.at(ports.length > 1 ? index : 0)) ?? ''),
  }))
  return first === undefined ? refuseUrl('has no host') : [first, ...others]
}

interface ListedHost {
  readonly name: string
  readonly port: string | undefined
}

function splitHost(text: string): ListedHost {
  const parts = /^(?:\[(?<v6>[^[\]]+)\]|(?<name>[^:[\]]*))(?::(?<port>[^:]*))?$/.exec(text)?.groups
  if (parts === undefined) {
    return refuseUrl('has a host that is none. An IPv6 address needs brackets: [::1]:5432')
  }
  if (parts['v6'] !== undefined && !isIPv6(parts['v6'])) {
    return refuseUrl('has brackets around a host that is no IPv6 address')
  }
  const name = parts['v6'] ?? decoded('a host', parts['name']) ?? ''
  return { name, port: parts['port'] }
}

const onlyName = (name: string): ListedHost => ({ name, port: undefined })

function checkHost(host: string): string {
  return /[\s:@]/.test(host) && !isIPv6(host) && !isSocketFolder(host)
    ? refuseUrl('has a host that is none')
    : host
}

function readPort(text: string): number {
  const port = text === '' ? DEFAULT_PORT : Number(text)
  const isPort = /^\d*$/.test(text) && port >= 1 && port <= PORT_MAX
  return isPort ? port : refuseUrl(`port: must be 1 to ${PORT_MAX}`)
}

/** libpq takes a host that begins with a slash for the folder of a Unix socket. */
export function isSocketFolder(host: string): boolean {
  return host.startsWith('/')
}

/** Unlike in the query of a web address, a plus sign is not a space. */
function decoded(what: string, text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text)
  } catch {
    return refuseUrl(`${what}: has a % that begins no percent-encoded UTF-8. Write % as %25`)
  }
}
