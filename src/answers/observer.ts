// Defines the observer that counts what the copies of answers saved.

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
