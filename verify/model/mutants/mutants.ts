// Lists the mutants that the model finds: the mutants of the fault suite that it can express, and some
// of its own. Each mutant is checked in the smallest space that shows it, and must break the invariant
// that is named with it.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { mutants as faultSuiteMutants, patch, type Patch } from '../../faults/mutants/mutants.ts'
import { isPossible } from '../programs/ids.ts'
import { type Space, type SpaceChanges, spaceOf } from '../space/space.ts'

export interface ModelMutant {
  readonly name: string
  readonly breaks: string
  readonly patches: readonly Patch[]
  /** SQL statements that remove the database's own constraints. */
  readonly schema: readonly string[]
  readonly space: Space
  /** Prefix of the expected violation: the number of an invariant in ARCHITECTURE.md. */
  readonly foundBy: string
}

const read = (file: string): unknown =>
  parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as unknown

/** What several spaces have in common. */
const KINDS: Readonly<Record<string, SpaceChanges>> = {
  /** Two keys, and processes that work on both at the same time. No operation is retried. */
  batch: { keys: 2, members: 2, tries: { calls: 1, retries: 0 } },
  /** Two requests with one reference. */
  order: { keys: 2, oneReference: true, tries: { calls: 1, retries: 0 } },
  /** An event undoes a payment whose key is canceled. */
  undoing: { cancels: true, appliers: 1 },
}

/** What is changed of one key, one worker, and a provider that executes and answers every call. */
const plain = (
  name: string,
  { like = '', ...changes }: { readonly like?: string | undefined },
): Space => spaceOf(name, { workers: 1, ...KINDS[like], ...changes })

const changed = z.looseObject({ like: z.enum(Object.keys(KINDS)).optional() })

const ofTheFaultSuite = z
  .record(z.string(), changed.extend({ foundBy: z.string() }))
  .parse(read('of-the-fault-suite.yaml'))

const own = z
  .record(
    z.string(),
    z.strictObject({
      breaks: z.string(),
      patches: z.array(patch),
      schema: z.array(z.string()).default([]),
      space: changed.extend({ name: z.string() }),
      foundBy: z.string(),
    }),
  )
  .parse(read('own.yaml'))

export const mutants: readonly ModelMutant[] = [
  ...Object.entries(ofTheFaultSuite).map(([name, { foundBy, ...changes }]): ModelMutant => {
    const mutant = faultSuiteMutants.find((other) => other.name === name)
    if (mutant === undefined) throw new Error(`the fault suite has no mutant ${name}`)
    const { breaks, patches, schema = [] } = mutant
    return { name, breaks, patches, schema, space: plain(name, changes), foundBy }
  }),
  ...Object.entries(own).map(([name, mutant]): ModelMutant => {
    const { name: ofSpace, ...changes } = mutant.space
    return { ...mutant, name, space: plain(ofSpace, changes) }
  }),
].filter(({ space }) => isPossible(space))
