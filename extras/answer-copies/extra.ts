// Joins the copies of answers with the service.
import type { AnswerCopies } from '../../src/answers/answers.ts'
import type { Parts, Settings } from './open-answers.ts'
import { settings } from './settings.ts'

export const copiesOfAnswers: AnswerCopies = {
  settings,
  async open(given: object, parts: Parts) {
    const { openAnswers } = await import('./open-answers.ts')
    return await openAnswers(given as Settings, parts)
  },
}
