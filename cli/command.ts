// What a command gets, and the API's types that commands share.
import type { Client } from '../client/index.ts'
import type { components, paths } from '../client/operators-schema.ts'
import type { Output } from './output.ts'

export interface Options {
  readonly url?: string | undefined
  readonly 'key-file'?: string | undefined
  readonly tenant?: string | undefined
  readonly since?: string | undefined
  readonly 'provider-id'?: string | undefined
  readonly 'did-not-happen'?: string | undefined
  readonly note?: string | undefined
  readonly unverified?: boolean | undefined
}

/** A client of the routes of operators. */
export type OperatorClient = Client<paths>

export interface Call {
  readonly client: OperatorClient
  readonly output: Output
  /** What the command is about; empty for a command that takes nothing. */
  readonly subject: string
  readonly options: Options
}

export type Command = (call: Call) => Promise<void>

export type Operation = components['schemas']['Operation']
export type PaymentOverview = components['schemas']['PaymentOverview']
export type PaymentWithLife = components['schemas']['PaymentWithLife']
export type OperationWithTimeline = components['schemas']['OperationWithTimeline']
export type PhaseRun = components['schemas']['PhaseRun']
