// The amount of the payments that operations work on, in minor units: in their tests and in the fault
// suite, so that what a fixture says of the payment is true in both.
export const AMOUNT_MINOR = 1999
