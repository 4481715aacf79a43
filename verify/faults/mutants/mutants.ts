// Reads all mutants from the files beside this one. Each must be caught by the invariant that it
// names, or the suite proves nothing there.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Mutant } from './mutant.ts'

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
