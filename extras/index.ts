// The extras: what a fork may delete, a folder and its lines here each. README.md says how.
import type { AnswerCopies } from '../src/answers/answers.ts'
import type { ProviderAdapter } from '../src/provider/provider-adapter.ts'
import { copiesOfAnswers } from './answer-copies/extra.ts'
import { braintree } from './braintree/adapter.ts'

/** Payment providers beside that of the core, in the order in which texts name them. */
export const providers: readonly ProviderAdapter[] = [braintree]

/** What keeps copies of answers in front of the database: one of them at most. */
export const answerCopies: readonly AnswerCopies[] = [copiesOfAnswers]
