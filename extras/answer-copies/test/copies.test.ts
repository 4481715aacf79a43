import { expect, test } from '@jest/globals'
import { silentAnswersObserver } from '../../../src/answers/answers.ts'
import { completedKey } from '../../../test/support/completed-key.ts'
import { createAnswers } from '../copies.ts'
import { createMemoryAnswers } from '../memory-answers.ts'

test.each([
  ['found', 310],
  ['not found, because clocks differ', 290],
])('the copy of a key is %s %d seconds before the key expires', async (what, seconds) => {
  const answers = createAnswers({
    epoch: { current: () => 'epoch' },
    memory: createMemoryAnswers({ answers: 3, bytes: 1_000_000, seconds: 3_600 }),
    redis: undefined,
    observe: silentAnswersObserver,
  })
  const key = completedKey({ expiresAt: new Date(Date.now() + seconds * 1_000) })

  answers.keep('epoch', key)

  expect(await answers.find(key)).toEqual(what === 'found' ? key : undefined)
})
