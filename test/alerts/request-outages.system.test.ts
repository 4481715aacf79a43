// Plays the outages of requests, in a file of its own, so that they run beside the others.
import { describeOutages } from './describe-outages.ts'
import { requestOutages } from './request-outages.ts'

describeOutages(requestOutages)
