// The process of the Braintree stand-in: `node dev/braintree-stand-in/main.ts`. It listens on
// BRAINTREE_STAND_IN_PORT.
import { pino } from 'pino'
import { announceReady, runProcess, stopOnSignal } from '../../../src/process.ts'
import { createBraintreeStandIn } from './app.ts'

const PORT_DEFAULT = 3101
const STOP_LIMIT_MS = 5_000

await runProcess('braintree-stand-in', async () => {
  const log = pino({ base: { process: 'braintree-stand-in' } })
  const standIn = createBraintreeStandIn()
  const port = Number(process.env['BRAINTREE_STAND_IN_PORT'] ?? PORT_DEFAULT)
  log.info({ port: await standIn.listen({ host: '127.0.0.1', port }) }, 'is listening')
  stopOnSignal(STOP_LIMIT_MS, () => standIn.close())
  announceReady()
})
