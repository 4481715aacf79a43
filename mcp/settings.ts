// Reads the settings of the MCP server. Keys and tokens come from the environment alone: every user of
// the machine could read an argument in the list of processes.
import { parseArgs } from 'node:util'
import { UsageError } from './errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface HttpSettings {
  readonly host: string
  readonly port: number
  /** What clients send as `Authorization: Bearer`. */
  readonly token: string
  /** The names of this server that a Host header may have. */
  readonly hosts: readonly string[]
  /** The origins of web pages that may call it. None by default. */
  readonly origins: readonly string[]
}

export interface Settings {
  readonly apiUrl: string
  readonly apiKey: string
  /** Undefined for stdio. */
  readonly http?: HttpSettings
}

export const USAGE = `Usage: npm run mcp -- [--http] [--host <address>] [--port <number>]

Serves the payment tools to an MCP client: on stdin and stdout, or with --http on
http://127.0.0.1:3333/mcp.

ATOMIC_URL           the service, http://127.0.0.1:3000 by default
ATOMIC_API_KEY       the tenant's API key
MCP_TOKEN            with --http: what clients send as "Authorization: Bearer", 32 characters or more
MCP_ALLOWED_HOSTS    with --http: further names of this server, separated by commas
MCP_ALLOWED_ORIGINS  with --http: origins of web pages that may call it, separated by commas
`

const options = {
  http: { type: 'boolean' },
  host: { type: 'string' },
  port: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const PORT_DEFAULT = 3333
const TOKEN_LENGTH_MIN = 32

/**
 * Returns undefined when the usage is asked for.
 *
 * @throws UsageError that names the wrong setting, and never quotes a secret.
 */
export function readSettings(
  args: readonly string[],
  environment: Environment,
): Settings | undefined {
  const given = parse(args)
  if (given.help === true) return undefined
  const { ATOMIC_URL, ATOMIC_API_KEY = '' } = environment
  const url = URL.parse(ATOMIC_URL || 'http://127.0.0.1:3000')
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw new UsageError('ATOMIC_URL must be like https://payments.example.com')
  }
  if (!/^[\x21-\x7e]+$/.test(ATOMIC_API_KEY)) {
    throw new UsageError('ATOMIC_API_KEY must be the API key of the tenant')
  }
  const service = { apiUrl: url.href.replace(/\/$/, ''), apiKey: ATOMIC_API_KEY }
  return given.http === true ? { ...service, http: readHttp(given, environment) } : service
}

function readHttp(
  { host = '127.0.0.1', port = String(PORT_DEFAULT) }: ReturnType<typeof parse>,
  { MCP_TOKEN = '', MCP_ALLOWED_HOSTS, MCP_ALLOWED_ORIGINS }: Environment,
): HttpSettings {
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new UsageError('--port must be a number from 0 to 65535')
  }
  if (!/^[\x21-\x7e]+$/.test(MCP_TOKEN) || MCP_TOKEN.length < TOKEN_LENGTH_MIN) {
    throw new UsageError(`MCP_TOKEN must have ${TOKEN_LENGTH_MIN} or more visible ASCII characters`)
  }
  return {
    host,
    port: Number(port),
    token: MCP_TOKEN,
    hosts: [...LOOPBACK, ...listOf(MCP_ALLOWED_HOSTS)],
    origins: listOf(MCP_ALLOWED_ORIGINS),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch {
    // Its message would quote the argument, which may be a key.
    throw new UsageError('unknown argument; --help shows the usage')
  }
}

const listOf = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
