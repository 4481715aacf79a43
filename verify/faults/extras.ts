// What extras add to the suite, each in its file `verify/suite.ts`: scenarios and faults of their own, and a
// second provider, to which payments can move. Without one the suite leaves out the scenarios that need it.
import { globSync } from 'node:fs'
import type { Fault, Scenario } from './scenario.ts'
import type { ProviderRequests } from './provider-proxy.ts'

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

/** A file with these exports. It may not import a file that imports this one: each would wait for the other. */
interface SuiteOfExtra {
  readonly scenarios?: readonly Scenario[]
  readonly faults?: readonly Fault[]
  readonly secondProvider?: SecondProviderKind
}

const ROOT = new URL('../../', import.meta.url)
const files = globSync('extras/*/verify/suite.ts', { cwd: ROOT }).toSorted()
const suites: readonly SuiteOfExtra[] = await Promise.all(
  files.map((file) => import(new URL(file, ROOT).href)),
)

export const scenariosOfExtras = suites.flatMap(({ scenarios = [] }) => scenarios)
export const faultsOfExtras = suites.flatMap(({ faults = [] }) => faults)
export const [secondProvider] = suites.flatMap((suite) => suite.secondProvider ?? [])
