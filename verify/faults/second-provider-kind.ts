// The second provider of a lane, to which payments can move: an extra describes it in its folder `verify`.
// Without such an extra the suite leaves the scenarios out that need one.
import { globSync } from 'node:fs'
import type { CallName } from '../../src/provider/calls.ts'

/** A pattern of each call of the port, and of reads: the first one that matches names the request. */
export type RequestPatterns = Readonly<Record<CallName | 'look' | 'dispute' | 'list', RegExp>>

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
  readonly patterns: RequestPatterns
  readonly standIn: {
    readonly script: string
    /** The setting with its port. */
    readonly port: string
    /** The faults that it can inject. */
    readonly faults: readonly string[]
    /** What its control API sets before a run. */
    readonly settings: object
  }
  /** The kinds of its log in the words of the first provider's. */
  readonly kinds: Readonly<Record<string, string>>
  /** Our ids in an entry of its log. */
  idsOf(entry: Entry): { readonly paymentId: string; readonly refundId: string | null } | null
}

const ROOT = new URL('../../', import.meta.url)
const [found] = globSync('extras/*/verify/second-provider.ts', { cwd: ROOT }).toSorted()

export const secondProvider: SecondProviderKind | undefined =
  found === undefined ? undefined : (await import(new URL(found, ROOT).href)).secondProvider
