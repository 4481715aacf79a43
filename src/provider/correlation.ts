// Our ids of a record of the provider, from the metadata that our calls add to every object.

export interface Correlation {
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly operationId: string
}
