// Zod schemas of the amounts of payments and their parts. Their descriptions list the rules of each
// currency for openapi.yaml. The rules are checked only for new operations, not with the schema.
import type { z } from 'zod'
import { capabilitiesOf } from '../../provider/declared.ts'
import { amountField } from '../requests/body-fields.ts'

const { amounts } = capabilitiesOf('stripe')

const STEPS = `At Stripe, in some currencies it must be a multiple: ${list(amounts.steps)}.`

const MINIMA = `The smallest amount there by currency: ${list(amounts.chargeMinimaMinor)}. Other currencies have no minimum here, but the provider may decline a small amount.`

/** The amount of a payment, in minor units. */
export function chargeAmountField(description: string): z.ZodInt {
  return amountField.meta({ description: `${description} ${STEPS} ${MINIMA}`, examples: [1999] })
}

/** A part of the amount of a payment, in minor units. */
export function partAmountField(description: string): z.ZodInt {
  return amountField.meta({ description: `${description} ${STEPS}` })
}

function list(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([currency, minor]) => `\`${currency}\` ${minor}`).join(', ')
}
