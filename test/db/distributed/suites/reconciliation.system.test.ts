import './in-parts.ts'
import '../../../reconciliation/traffic.test.ts'
