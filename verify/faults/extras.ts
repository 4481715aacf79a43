// What extras add to the suite, each in its file `verify/suite.ts`: scenarios and faults of their own, and a
// second provider, to which payments can move. Without one the suite leaves out the scenarios that need it.
import { globSync } from 'node:fs'
import type { CallName } from '../../src/provider/calls.ts'
import type { ContractCall } from '../../test/provider/contract/fixture.ts'

/** A call as a provider sees it: its request, where `*` is an id, and its name in the log of the stand-in. */
type CallAtProvider = Pick<ContractCall, 'request' | 'kind'>

/** The requests of a provider's API, by the names that points of the suite have. */
export interface ProviderRequests {
  readonly calls: Readonly<Partial<Record<CallName, CallAtProvider>>>
  /** What stands before each path of a call, as a regular expression. */
  readonly root?: string
  readonly reads: Readonly<Record<'look' | 'dispute' | 'list', RegExp>>
}

/** The name of the call or of the read; undefined for any other request, which is given as `POST /path`. */
export function nameIn({ calls, root = '', reads }: ProviderRequests, line: string) {
  const patterns = Object.entries(calls).map(
    ([
      name,
      {
        request: { method, path },
      },
    ]) => {
      return [name, new RegExp(`^${method} ${root}${path.replaceAll('*', '[^/]+')}$`)] as const
    },
  )
  return [...patterns, ...Object.entries(reads)].find(([, pattern]) => pattern.test(line))?.[0]
}

/** An entry of its stand-in's log. */
export interface OwnEntry {
  readonly seq: number
  readonly kind: string
  readonly id: string
  readonly amount: number
  readonly currency: string
}

export interface SecondProviderKind<Entry extends OwnEntry = OwnEntry> {
  /** The name of the provider in payments. */
  readonly name: string
  /** A payment method that it charges. */
  readonly paymentMethod: string
  /** The setting with its address. Each process gets its own. */
  readonly apiBase: string
  /** The settings with which a service uses it. */
  settings(privateKey: string): Readonly<Record<string, string>>
  /** Shortens times that no setting shortens. */
  readonly shortWaits: readonly {
    readonly file: string
    readonly text: string
    readonly replacement: string
  }[]
  readonly requests: ProviderRequests
  readonly standIn: {
    readonly script: string
    /** The setting with its port. */
    readonly port: string
    /** The faults that it can inject. */
    readonly faults: readonly string[]
    /** What its control API sets before a run. */
    readonly settings: object
  }
  /** Our ids in an entry of its log. */
  idsOf(entry: Entry): { readonly paymentId: string; readonly refundId: string | null } | null
}

const ROOT = new URL('../../', import.meta.url)
const files = globSync('extras/*/verify/suite.ts', { cwd: ROOT }).toSorted()

/** None may import a file that imports this one: each would wait for the other. */
const suites: readonly Readonly<Record<string, unknown>>[] = await Promise.all(
  files.map((file) => import(new URL(file, ROOT).href)),
)

/** What the extras export by that name: `scenarios`, `faults`, `secondProvider`. */
export function ofExtras(name: string): readonly unknown[] {
  return suites.flatMap((suite) => suite[name] ?? [])
}

export const [secondProvider] = ofExtras('secondProvider') as readonly SecondProviderKind[]
