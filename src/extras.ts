// What the extras add to the core. No other file of the core imports them.
import { answerCopies, providers } from '../extras/index.ts'

export const extras = { answerCopies, providers }
