// The statements of src, each sent by its function with example arguments. A test holds the rights of the
// service role against them.
import type { Example } from './example.ts'
import { operationsExamples } from './examples-operations.ts'
import { resourceExamples } from './examples-resources.ts'
import { serviceExamples } from './examples-service.ts'

export const examples: readonly Example[] = [
  ...operationsExamples,
  ...resourceExamples,
  ...serviceExamples,
]
