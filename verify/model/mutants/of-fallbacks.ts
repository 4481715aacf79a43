// Mutants of the fallback: each moves a payment whose first provider may still execute it.
import type { Space, SpaceChanges } from '../space/space.ts'
import { plain, type ModelMutant } from './mutant.ts'

const withFallback = (name: string, changes: SpaceChanges): Space =>
  plain(name, { fallback: true }, changes)

const BOTH = '1: key 0 was executed at two providers'

const ELSEWHERE = 'src/engine/call-provider.ts'

export const mutantsOfFallbacks: readonly ModelMutant[] = [
  {
    name: 'moved-in-doubt',
    breaks: 'A payment moves although the answer to an earlier try of the same call was lost.',
    patches: [{ file: ELSEWHERE, text: ' || call.inDoubt', replacement: '' }],
    schema: [],
    space: withFallback('a call with a lost answer is repeated', {
      provider: ['refuses'],
      tries: { calls: 2, retries: 0 },
    }),
    foundBy: BOTH,
  },
  {
    name: 'moved-after-a-takeover',
    breaks: 'A payment moves although the owner before, which crashed, may have called.',
    patches: [
      {
        file: ELSEWHERE,
        text: 'call.inDoubt',
        replacement: "call.runs.some(({ outcome }) => outcome?.outcome === 'unknown')",
      },
    ],
    schema: [],
    space: withFallback('an owner crashes', {
      budget: { crashes: 1 },
      provider: ['refuses'],
      tries: { calls: 1, retries: 1 },
    }),
    foundBy: '5: key 0 was executed at a provider that its payment does not name',
  },
  {
    name: 'fallback-kept-after-a-doubt',
    breaks:
      'A payment moves after the absence of its call was proved, and the provider completes it late.',
    patches: [
      {
        file: 'src/recovery/outcome-resolver.ts',
        text: '    await dropFallbackIfOwner(tx, claim)\n',
        replacement: '',
      },
    ],
    schema: [],
    space: withFallback('a provider completes a failed call late', {
      provider: ['fails', 'refuses'],
      tries: { calls: 1, retries: 0 },
    }),
    foundBy: BOTH,
  },
  {
    name: 'moved-without-its-provider',
    breaks:
      'A payment that moves is charged at its first provider, with the payment method of the other.',
    patches: [
      {
        file: 'src/operations/create-payment/phases.ts',
        text: "{ status: 'processing', provider, paymentMethod }",
        replacement: "{ status: 'processing', paymentMethod }",
      },
    ],
    schema: [],
    space: withFallback('a call is refused', { provider: ['refuses'] }),
    foundBy: '8: authorize',
  },
  {
    name: 'captured-at-the-first-provider',
    breaks: 'A payment that has moved is captured at the provider that did not authorize it.',
    patches: [
      {
        file: 'src/operations/create-payment/phases.ts',
        text: "const authorized = paymentAfter(payment, { status: 'processing', ...found })",
        replacement:
          "const authorized = paymentAfter(payment, { status: 'processing', provider: 'stripe', ...found })",
      },
    ],
    schema: [],
    space: withFallback('a call is refused', { provider: ['refuses'] }),
    foundBy: '1: key 0 was captured or canceled where nothing was authorized',
  },
]
