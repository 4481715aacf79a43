// Copies of completed answers in front of the database, so that a replay needs no statement. An extra keeps
// them; without it there are none. Copies only save time. The database alone decides, and a request without
// a valid copy is served by it as before.
import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Store } from '../db/connection/client.ts'
import type { IdempotencyKey, KeyName } from '../db/idempotency/idempotency-keys.ts'

export interface Answers {
  /**
   * The epoch in which an answer must be read to be kept: ask before the statement. Undefined while
   * this process would not learn that a response is dropped. Nothing is kept and found then.
   */
  epoch(): string | undefined
  /**
   * Returns a copy of the key: completed, with its response, or still in progress a moment ago. Never
   * throws.
   */
  find(name: KeyName): Promise<IdempotencyKey | undefined>
  /**
   * Keeps a key that the database returned, in the background: a completed one, and in Redis one that
   * is in progress. Ignores other keys, and copies. Never throws.
   */
  keep(epoch: string | undefined, key: IdempotencyKey): void
  close(): void
}

/** Keeps nothing. */
export const noAnswers: Answers = {
  epoch: () => undefined,
  find: () => Promise.resolve(undefined),
  keep() {},
  close() {},
}

type Settings = Readonly<Record<string, unknown>>

interface AnswersParts {
  readonly store: Pick<Store, 'sql' | 'listen'>
  readonly log: Logger
  readonly observe: AnswersObserver
}

/** An extra that keeps copies. */
export interface AnswerCopies {
  /** The schemas of its settings, by the names of the variables. */
  readonly settings: z.ZodRawShape
  /** Its packages are loaded only when they are used. */
  open(settings: Settings, parts: AnswersParts): Promise<Answers>
}

/** Where copies are. */
export const answerLayers = ['memory', 'redis'] as const
type AnswerLayer = (typeof answerLayers)[number]

/**
 * Results of looking for a copy of a key. `error`: Redis did not answer in time, or what it had is no
 * copy of the key. `skipped`: Redis was not asked, because it failed a moment ago.
 */
export const lookUpResults = ['hit', 'miss', 'error', 'skipped'] as const
export type LookUpResult = (typeof lookUpResults)[number]

/** Implementations must neither wait nor throw. */
export interface AnswersObserver {
  readonly lookedUpAnswer: (layer: AnswerLayer, result: LookUpResult) => void
  /** Redis answered a command, or did not answer it in time. */
  readonly calledRedis: (command: 'get' | 'set', seconds: number) => void
  /** Redis did not take a copy. */
  readonly lostCopy: () => void
  readonly turnedRedis: (isOpen: boolean) => void
}

/** Counts nothing. */
export const silentAnswersObserver: AnswersObserver = {
  lookedUpAnswer() {},
  calledRedis() {},
  lostCopy() {},
  turnedRedis() {},
}
