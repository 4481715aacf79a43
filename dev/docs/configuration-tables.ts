// Renders the tables of docs/configuration.md: the settings, from the comments of .env.example, of the
// project and of each extra, and their schema; and the parameters of DATABASE_URL.
import { globSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { configShape } from '../../src/config.ts'
import type { DatabaseUrlParameter } from '../../src/database-url.ts'
import { code, renderTable } from './markdown.ts'

/** One table for each section of .env.example. */
export function renderSettings(): string {
  const [, ...sections] = readSettingsExamples().split(/^# --- /m)
  return sections.map(renderSection).join('\n\n')
}

/** .env.example, followed by those of the extras. */
export function readSettingsExamples(): string {
  const root = new URL('../../', import.meta.url)
  const files = ['.env.example', ...globSync('extras/*/.env.example', { cwd: root }).toSorted()]
  return files.map((file) => readFileSync(new URL(file, root), 'utf8')).join('\n')
}

function renderSection(section: string): string {
  const [title = '', ...paragraphs] = section.trim().split('\n\n')
  const rows = paragraphs.map(readSetting)
  return `## ${title}\n\n${renderTable(['variable', 'default', 'values', 'meaning'], rows)}`
}

/** Returns the row of a setting: its name, its default as in .env.example, its values and its meaning. */
function readSetting(paragraph: string): string[] {
  const {
    comment = '',
    name = '',
    value = '',
  } = /^(?<comment>(?:# .*\n)+)(?<name>\w+)=(?<value>.*)$/.exec(paragraph)?.groups ?? {}
  const meaning = comment.replaceAll(/^# /gm, '').trim().replaceAll('\n', ' ')
  return [code(name), value === '' ? 'none' : code(value), showValues(name), meaning]
}

const shape: Readonly<Record<string, z.ZodType>> = configShape

/** Renders the values of a setting: its words, or its range with the unit from its name. */
function showValues(name: string): string {
  const type = shape[name] ?? z.never()
  const schema = z.toJSONSchema(type, UNREPRESENTED)
  const unset = type.safeParse(undefined).data
  if (schema.enum !== undefined) return schema.enum.map((word) => code(String(word))).join(', ')
  if (typeof unset === 'boolean') return '`true`, `false`'
  if (Array.isArray(unset)) return 'comma-separated'
  if (schema.minimum !== undefined) return showRange(name, schema.minimum, schema.maximum)
  return schema.format === 'uri' ? 'URL' : 'text'
}

/** The upper bound that zod reports for an integer without one. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** A schema that JSON Schema cannot express counts as any value. */
const UNREPRESENTED = { unrepresentable: 'any' } as const

function showRange(name: string, minimum: number, maximum = UNBOUNDED): string {
  const [least, most] = [minimum, maximum].map((bound) => bound.toLocaleString('en-US'))
  if (maximum === UNBOUNDED) return `${least} ${unitOf(name)} or more`
  return `${least} to ${most} ${unitOf(name)}`.trim()
}

function unitOf(name: string): string {
  if (name.endsWith('_MS')) return 'ms'
  return name.endsWith('_SECONDS') ? 's' : ''
}

/** The types make sure that each parameter is described. */
const parameterMeanings: Readonly<Record<DatabaseUrlParameter, string>> = {
  sslmode:
    '`disable` (the default; libpq has `prefer`): no TLS. `prefer`: TLS if the server has it; `allow` is read as `prefer`. `require`: TLS, but **nothing is verified**, unless `sslrootcert` is set. `verify-ca`: the server has a certificate of the CA in `sslrootcert`. `verify-full`: and it names the host. Use `verify-full` outside a private network. A Unix socket has no TLS.',
  sslrootcert:
    'A file with CAs, PEM. With it `sslmode=require` means `verify-ca`. `system`: the CAs of Node (its variable NODE_EXTRA_CA_CERTS adds some) and of the system, and `sslmode=verify-full`. These are also the default of `verify-full`: no file in a home folder is read.',
  sslcert: 'A file with the certificate of the client, PEM. Needs `sslkey`.',
  sslkey: 'The file with its key, PEM.',
  sslpassword: 'The passphrase of `sslkey`.',
  sslnegotiation: 'Only `postgres`, the default.',
  channel_binding:
    '`disable` and `prefer` change nothing: the driver has no channel binding. `require` is kept by `sslmode=verify-full`, which protects against the same attack.',
  target_session_attrs:
    '`any` (the default): the only host, without asking; of several hosts, the primary. `primary` or `read-write`: the primary. All hosts are asked at once. A standby is never used, and a former primary not after the promotion of a later one. Other values are refused, because the service writes.',
  connect_timeout: 'Seconds for each host. By default `STORE_TIMEOUT_MS`, 10 s at most.',
  options:
    'Settings for the session, percent-encoded: `-c%20work_mem%3D8MB`. Those that change what is read or written, and timeouts, are fixed by the service.',
  host: 'Replaces the hosts of the URL, for example by the folder of a Unix socket: `host=/cloudsql/project:region:instance`.',
  port: 'One port, or one for each host. The default is 5432.',
  user: 'As in the URL.',
  password: 'As in the URL.',
  dbname: 'As in the URL.',
  client_encoding: 'Only `UTF8`.',
  gssencmode: 'Only `disable` and `prefer`: there is no GSSAPI.',
}

export function renderDatabaseUrlParameters(): string {
  const rows = Object.entries(parameterMeanings).map(([name, meaning]) => [code(name), meaning])
  return renderTable(['parameter', 'meaning'], rows)
}
