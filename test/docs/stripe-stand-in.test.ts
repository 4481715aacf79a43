// Holds docs/stripe-stand-in.md to the stand-in: its control routes, and its example of a lost answer.
import { expect, test } from '@jest/globals'
import { readPage } from '../support/named-tests.ts'
import { payment } from '../dev/stripe-stand-in/running-provider.ts'
import { providerOfFile } from '../support/own-provider.ts'

const page = readPage('docs/stripe-stand-in.md')

const provider = providerOfFile()

test('names every control route, and no other', () => {
  const source = ['stripe-stand-in/control.ts', 'stand-in/fault-routes.ts']
    .map((file) => readPage(`dev/${file}`))
    .join('\n')
  const paths = [...source.matchAll(/(?:\.(?:get|post|delete)\(|^ {4})'(\/[^']+)'/gm)].map(
    ([, path = '']) => path.replace(':id', 'ID'),
  )

  const named = [...page.matchAll(/`(?:GET|POST) \/_control(\/\S+?)`/g)].map(([, path]) => path)
  expect(new Set(named)).toEqual(new Set(paths))
})

test('the example of a lost answer: the repetition with the same key is charged once', async () => {
  const rule = /await control\('\/faults', (\{.*?\n\})\)/s.exec(page)?.[1] ?? ''
  // The page writes the rule as JavaScript.
  const body = rule
    .replaceAll(/(\w+):/g, '"$1":')
    .replaceAll("'", '"')
    .replaceAll(/,(\s*\})/g, '$1')
  await provider.addFault(JSON.parse(body) as object)
  const pay = () =>
    provider.stripe.paymentIntents.create(payment({ payment_method: 'pm_card_visa' }), {
      idempotencyKey: 'order 1',
    })

  // Stripe's client repeats a closed connection itself, once.
  const intent = await pay()

  expect(intent.status).toBe('succeeded')
  await provider.waitForFault()
  expect(await provider.executed()).toHaveLength(1)
})
