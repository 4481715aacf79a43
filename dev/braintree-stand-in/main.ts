// The process of the Braintree stand-in: `node dev/braintree-stand-in/main.ts [port]`.
import { pino } from 'pino'
import { createBraintreeStandIn } from './app.ts'

const PORT_DEFAULT = 3101

const standIn = createBraintreeStandIn()
const port = await standIn.listen({
  host: '127.0.0.1',
  port: Number(process.argv[2] ?? PORT_DEFAULT),
})
pino().info({ port }, 'Braintree stand-in is listening')
process.once('SIGTERM', () => void standIn.close())
process.once('SIGINT', () => void standIn.close())
