// How rows are rendered by the schema of their resource.
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { idField, timeField, render } from '../../../src/http/contracts/fields.ts'

const UUID = '01890a5d-ac96-774b-bcce-b302099a8057'
const ID = '01h455vb4pex5vsknk084sn02q'

const schema = z.object({
  id: idField('fnd', 'The id.'),
  object: z.literal('finding'),
  payment: idField('pay', 'The payment.').nullable(),
  opened_at: timeField('When.'),
  note: z.string().nullable(),
  operation: z.object({ id: idField('op', 'The id.') }).nullable(),
  runs: z.array(z.object({ phase_age: z.int() })),
  ours: z.record(z.string(), z.unknown()),
  provider: z.string().optional(),
})

const row = {
  runs: [{ phaseAge: 1 }],
  ours: { amountMinor: 1 },
  secret: 'not in the schema',
  operation: { id: UUID, key: 'neither' },
  note: null,
  openedAt: new Date(0),
  paymentId: UUID,
  id: UUID,
}

test('renders the fields of the schema, in its order, and nothing else', () => {
  expect(JSON.stringify(render(schema, row))).toBe(
    JSON.stringify({
      id: `fnd_${ID}`,
      object: 'finding',
      payment: `pay_${ID}`,
      opened_at: '1970-01-01T00:00:00.000Z',
      note: null,
      operation: { id: `op_${ID}` },
      runs: [{ phase_age: 1 }],
      ours: { amountMinor: 1 },
    }),
  )
})

test('keeps null, and an id that is public already', () => {
  const shown = render(schema, { ...row, id: `fnd_${ID}`, paymentId: null, operation: null })

  expect(shown).toMatchObject({ id: `fnd_${ID}`, payment: null, operation: null })
})

test('refuses a row without a value that the schema requires', () => {
  expect(() => render(schema, { ...row, note: undefined })).toThrow('no value for note')
})
