// A mutant: the product with one rule removed, to prove that the suite detects it. Some rules have
// a second safeguard behind them, for example a constraint or a check of the provider. Such a
// mutant removes both, because without the rule alone nothing would break.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Label } from '../results.ts'
import { REPOSITORY } from '../service-process.ts'

/** Replaces a text that occurs exactly once in a file of the product. */
export interface Patch {
  /** Relative to the root of the repository, with forward slashes. */
  readonly file: string
  readonly text: string
  readonly replacement: string
}

export interface Mutant {
  readonly name: string
  /** The defect, for readers of the report. */
  readonly breaks: string
  readonly patches: readonly Patch[]
  /** SQL statements that remove the database's own safeguards. */
  readonly schema?: readonly string[] | undefined
  /**
   * Whether it removes a predicate on the tenant. Row-level security must stop such a mutant, and
   * the invariant catches it only without row-level security.
   */
  readonly dropsTenant?: true | undefined
  /** Settings of API and worker with which the rule matters, and that differ from the lane's. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** The invariant of ARCHITECTURE.md that must catch it. */
  readonly caughtBy: number
  /** The runs that reveal it. One of them must. */
  readonly shownBy: readonly Label[]
}

/** The text does not occur exactly once: the product has changed, and the patch must follow. */
export class PatchError extends Error {
  override name = 'PatchError'
}

/**
 * The patched files, by their paths.
 *
 * @throws PatchError when a patch does not apply.
 */
export async function readPatched(patches: readonly Patch[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  for (const patch of patches) {
    const { file } = patch
    const source = sources.get(file) ?? (await readFile(join(REPOSITORY, file), 'utf8'))
    sources.set(file, applyPatch(source, patch))
  }
  return sources
}

/** @throws PatchError when the text does not occur exactly once. */
export function applyPatch(source: string, { file, text, replacement }: Patch): string {
  const [before = '', after, ...others] = source.split(text)
  if (after === undefined) throw new PatchError(`${file} does not contain: ${text}`)
  if (others.length > 0) throw new PatchError(`${file} contains more than once: ${text}`)
  return before + replacement + after
}

const FILES = [
  'leases',
  'calls',
  'late-calls',
  'events',
  'disputes',
  'keys',
  'copies',
  'batches',
  'references',
  'routes',
  'money',
  'holds',
  'cancellations',
  'transactions',
  'secrets',
  'neighbours',
]

const mutantsByName = z.record(
  z.string(),
  z.strictObject({
    breaks: z.string(),
    patches: z.array(
      z.strictObject({ file: z.string(), text: z.string(), replacement: z.string() }),
    ),
    schema: z.array(z.string()).optional(),
    dropsTenant: z.literal(true).optional(),
    settings: z.record(z.string(), z.coerce.string()).optional(),
    caughtBy: z.int().min(1).max(10),
    shownBy: z.union([z.string(), z.array(z.string())]).transform((labels) => [labels].flat()),
  }),
)

export const mutants: readonly Mutant[] = FILES.flatMap((file) => {
  const text = readFileSync(new URL(`${file}.yaml`, import.meta.url), 'utf8')
  const read = mutantsByName.parse(parse(text))
  return Object.entries(read).map(([name, mutant]) => ({ name, ...mutant }))
})
