// Opens the copies of answers of an extra, if there is one.
import { extras } from '../extras.ts'
import { noAnswers, type AnswerCopies, type Answers } from './answers.ts'

const [copies] = extras.answerCopies

/** The settings of the extra. The core knows none of them by name. */
export const answerSettings: object = { ...copies?.settings }

export async function openAnswers(
  settings: object,
  parts: Parameters<AnswerCopies['open']>[1],
): Promise<Answers> {
  return copies === undefined ? noAnswers : await copies.open({ ...settings }, parts)
}
