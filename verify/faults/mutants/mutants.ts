// A mutant: the product with one rule removed, to prove that the suite detects it. Some rules have
// a second safeguard behind them, for example a constraint or a check of the provider. Such a
// mutant removes both, because without the rule alone nothing would break.
import { globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { REPOSITORY } from '../service-process.ts'

/** Replaces a text that occurs exactly once in a file of the product. */
export const patch = z.strictObject({
  /** Relative to the root of the repository, with forward slashes. */
  file: z.string(),
  text: z.string(),
  replacement: z.string(),
})
export type Patch = Readonly<z.infer<typeof patch>>

const mutant = z.strictObject({
  /** The defect, for readers of the report. */
  breaks: z.string(),
  patches: z.array(patch),
  /** SQL statements that remove the database's own safeguards. */
  schema: z.array(z.string()).optional(),
  /**
   * Whether it removes a predicate on the tenant. Row-level security must stop such a mutant, and the
   * invariant catches it only without row-level security.
   */
  dropsTenant: z.literal(true).optional(),
  /** Settings of API and worker with which the rule matters, and that differ from the lane's. */
  settings: z.record(z.string(), z.coerce.string()).optional(),
  /** The invariant of ARCHITECTURE.md that must catch it. */
  caughtBy: z.int().min(1).max(10),
  /** The labels of the runs that reveal it. One of them must. */
  shownBy: z.union([z.string(), z.array(z.string())]).transform((labels) => [labels].flat()),
})
export type Mutant = Readonly<z.infer<typeof mutant>> & { readonly name: string }

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
  for (const one of patches) {
    const { file } = one
    const source = sources.get(file) ?? (await readFile(join(REPOSITORY, file), 'utf8'))
    sources.set(file, applyPatch(source, one))
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

/** Also those of the extras. */
const paths = [
  ...FILES.map((file) => `verify/faults/mutants/${file}.yaml`),
  ...globSync('extras/*/verify/mutants.yaml', { cwd: REPOSITORY }).toSorted(),
]

export const mutants: readonly Mutant[] = paths.flatMap((path) => {
  const text = readFileSync(join(REPOSITORY, path), 'utf8')
  const read = z.record(z.string(), mutant).parse(parse(text))
  return Object.entries(read).map(([name, own]) => ({ name, ...own }))
})
