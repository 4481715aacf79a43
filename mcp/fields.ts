// Zod schemas of the arguments that several tools have.
import { z } from 'zod'

const reference = z.string().regex(/^[\x21-\x7E]{1,255}$/, 'visible ASCII without spaces')

export const referenceField = reference.describe(
  'Your name of what is paid, for example the number of the order. The same for each try of the same order. Never invent a new one for an order that already has one. 1 to 255 visible ASCII characters.',
)

export const refundReferenceField = reference.describe(
  'Your name of what is returned, for example the number of the return. The same for each try of the same refund.',
)

export const attemptField = z
  .int()
  .min(1)
  .max(100)
  .default(1)
  .describe(
    '1 for the first try and all its repetitions. Raise it by one only if the answer said so.',
  )

export const paymentIdField = z
  .string()
  .regex(/^pay_[0-9a-z]{26}$/)
  .describe('The id of the payment: pay_...')

export const amountField = z.int().min(1).max(999_999_999_999)
