"""Tests in addition to rdma-core's, through its Python bindings; own_pyverbs_test.py runs them with
the system's Python. Two devices of one process communicate with each other."""

import ctypes
import errno
import mmap
import os
import time
import unittest

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

DEVICE = "verbena0"
LOOPBACK = "0000:0000:0000:0000:0000:ffff:7f00:0001"
MTU = 1024
GUARD = 64  # bytes on each side of a message that must not change
BLANK = b"\xee"
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
          | e.IBV_ACCESS_REMOTE_ATOMIC | e.IBV_ACCESS_MW_BIND)
REMOTE = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
TIMEOUT_S = 20


class End:
    """An open device with memory and, once connected, a queue pair."""

    def __init__(self, length=64 * 1024, cq_depth=256, srq=False):
        self.context = Context(name=DEVICE)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, cq_depth, None, None, 0)
        self.mr = MR(self.pd, length, ACCESS)
        self.srq = None
        if srq:
            self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=16, max_sge=1)))
        self.qp = self.make_qp()

    def close(self):
        for thing in (self.qp, self.srq, self.mr, self.cq, self.pd, self.context):
            if thing is not None:
                thing.close()

    def make_qp(self):
        cap = QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=2, max_recv_sge=2)
        wish = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1,
                          srq=self.srq)
        return QP(self.pd, wish)

    def gid_index(self):
        table = range(self.context.query_port(1).gid_tbl_len)
        return next(i for i in table if self.context.query_gid(1, i).gid == LOOPBACK)

    def connect(self, peer, reads=4, reads_of_peer=4, qp_access=REMOTE, rnr_retry=7):
        index = self.gid_index()
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = qp_access
        self.qp.to_init(attributes)
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.max_dest_rd_atomic = reads_of_peer
        attributes.min_rnr_timer = 12
        attributes.dest_qp_num = peer.qp.qp_num
        attributes.rq_psn = 7
        route = GlobalRoute(dgid=self.context.query_gid(1, index), sgid_index=index)
        attributes.ah_attr = AHAttr(port_num=1, is_global=True, gr=route)
        self.qp.to_rtr(attributes)
        attributes.timeout = 14
        attributes.retry_cnt = 7
        attributes.rnr_retry = rnr_retry
        attributes.sq_psn = 7
        attributes.max_rd_atomic = reads
        self.qp.to_rts(attributes)

    def sge(self, offset, length):
        return SGE(self.mr.buf + offset, length, self.mr.lkey)

    def post(self, opcode, offset=0, length=8, to=None, key=None, **atomic):
        """`to` is an address in the peer's memory."""
        wr = SendWR(num_sge=1, sg=[self.sge(offset, length)], opcode=opcode)
        if opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            wr.set_wr_rdma(key, to)
        elif atomic:
            wr.set_wr_atomic(key, to, **atomic)
        self.qp.post_send(wr)

    def post_reads(self, count, length, to, key):
        """Posts one list, so that all reads are outstanding at once, also within one adapter."""
        chain = []
        for _ in range(count):
            wr = SendWR(num_sge=1, sg=[self.sge(0, length)], opcode=e.IBV_WR_RDMA_READ,
                        next_wr=chain[-1] if chain else None)
            wr.set_wr_rdma(key, to)
            chain.append(wr)
        self.qp.post_send(chain[-1])

    def receive(self, offset=0, length=8, wr_id=0):
        wr = RecvWR(num_sge=1, sg=[self.sge(offset, length)], wr_id=wr_id)
        (self.srq or self.qp).post_recv(wr)

    def wait(self):
        until = time.monotonic() + TIMEOUT_S
        while time.monotonic() < until:
            count, completions = self.cq.poll(1)
            if count:
                return completions[0]
        raise AssertionError(f"no completion within {TIMEOUT_S} s")

    def event(self):
        event = self.context.get_async_event()
        event.ack()
        return event.event_type

    def drain(self):
        attributes = QPAttr(qp_state=e.IBV_QPS_SQD)
        attributes.en_sqd_async_notify = 1
        self.qp.modify(attributes, e.IBV_QP_STATE | e.IBV_QP_EN_SQD_ASYNC_NOTIFY)

    def state(self):
        attributes, _ = self.qp.query(e.IBV_QP_STATE)
        return attributes


def connected(a, b, **options):
    a.connect(b, **options)
    b.connect(a, **options)
    return a, b


class OwnTest(unittest.TestCase):
    def end(self, **options):
        end = End(**options)
        self.addCleanup(end.close)
        return end

    def pair(self, **options):
        self.a, self.b = connected(self.end(**options), self.end(**options))
        return self.a, self.b

    def must(self, end, status=e.IBV_WC_SUCCESS):
        completion = end.wait()
        self.assertEqual(completion.status, status)
        return completion


class Sizes(OwnTest):
    LENGTHS = (0, 1, MTU - 1, MTU, MTU + 1, (16 << 20) + 1)

    def prepare(self, source, target, length, seed):
        pattern = bytes((i * 7 + seed) % 251 for i in range(4096))
        self.data = (pattern * (length // len(pattern) + 1))[:length]
        blank = BLANK * (length + 2 * GUARD)
        target.mr.write(blank, len(blank), 0)
        source.mr.write(blank, len(blank), 0)
        if length:
            source.mr.write(self.data, length, GUARD)

    def check(self, target, length):
        found = target.mr.read(length + 2 * GUARD, 0)
        self.assertEqual(found[:GUARD], BLANK * GUARD)
        self.assertTrue(found[GUARD:GUARD + length] == self.data, f"{length} wrong bytes")
        self.assertEqual(found[GUARD + length:], BLANK * GUARD)

    def test_every_operation_at_every_boundary_size(self):
        a, b = self.pair(length=(16 << 20) + 4096)
        for seed, length in enumerate(self.LENGTHS):
            with self.subTest(operation="send", length=length):
                self.prepare(a, b, length, seed)
                b.receive(GUARD, length)
                a.post(e.IBV_WR_SEND, GUARD, length)
                self.must(a)
                self.assertEqual(self.must(b).byte_len, length)
                self.check(b, length)
            with self.subTest(operation="write", length=length):
                self.prepare(a, b, length, seed + 100)
                a.post(e.IBV_WR_RDMA_WRITE, GUARD, length, b.mr.buf + GUARD, b.mr.rkey)
                self.must(a)
                self.check(b, length)
            with self.subTest(operation="read", length=length):
                self.prepare(b, a, length, seed + 200)
                a.post(e.IBV_WR_RDMA_READ, GUARD, length, b.mr.buf + GUARD, b.mr.rkey)
                self.must(a)
                self.check(a, length)

    def test_a_receive_buffer_one_byte_too_short_is_an_error(self):
        a, b = self.pair()
        b.receive(0, MTU)
        a.post(e.IBV_WR_SEND, 0, MTU + 1)
        self.must(a, e.IBV_WC_REM_INV_REQ_ERR)
        self.must(b, e.IBV_WC_LOC_LEN_ERR)


class Windows(OwnTest):
    START, LENGTH = 1013, 77

    def setUp(self):
        a, b = self.pair()
        self.window = MW(b.pd, e.IBV_MW_TYPE_1)
        self.addCleanup(self.window.close)
        info = MWBindInfo(b.mr, b.mr.buf + self.START, self.LENGTH, e.IBV_ACCESS_REMOTE_WRITE)
        b.qp.bind_mw(self.window, MWBind(info, 3, e.IBV_SEND_SIGNALED))
        self.must(b)
        blank = BLANK * 4096
        b.mr.write(blank, len(blank), 0)
        a.mr.write("x" * 256, 256, 0)

    def write(self, start, length):
        self.a.post(e.IBV_WR_RDMA_WRITE, 0, length, self.b.mr.buf + start, self.window.rkey)

    def test_a_window_grants_exactly_its_bytes(self):
        self.write(self.START, self.LENGTH)
        self.must(self.a)
        found = self.b.mr.read(4096, 0)
        inside = slice(self.START, self.START + self.LENGTH)
        self.assertEqual(found[inside], b"x" * self.LENGTH)
        self.assertEqual(found.count(b"x"), self.LENGTH)

    def test_refuses_a_byte_before_the_window(self):
        self.write(self.START - 1, 2)
        self.must(self.a, e.IBV_WC_REM_ACCESS_ERR)
        self.assertEqual(self.b.mr.read(4096, 0), BLANK * 4096)

    def test_refuses_a_byte_after_the_window(self):
        self.write(self.START + self.LENGTH - 1, 2)
        self.must(self.a, e.IBV_WC_REM_ACCESS_ERR)
        self.assertEqual(self.b.mr.read(4096, 0), BLANK * 4096)

    def test_refuses_a_read_that_the_window_does_not_grant(self):
        self.a.post(e.IBV_WR_RDMA_READ, 0, 1, self.b.mr.buf + self.START, self.window.rkey)
        self.must(self.a, e.IBV_WC_REM_ACCESS_ERR)


class Events(OwnTest):
    def test_reaching_the_srq_limit_raises_one_event(self):
        a, b = connected(self.end(), self.end(srq=True))
        for _ in range(3):
            b.receive()
        b.srq.modify(SrqAttr(srq_limit=2), e.IBV_SRQ_LIMIT)
        for _ in range(2):
            a.post(e.IBV_WR_SEND)
            self.must(a)
            self.must(b)
        self.assertEqual(b.event(), e.IBV_EVENT_SRQ_LIMIT_REACHED)
        self.assertEqual(b.srq.query().srq_limit, 0)  # the event has disarmed it

    def test_a_cq_overflow_raises_an_event(self):
        a, b = connected(self.end(cq_depth=4), self.end())
        for _ in range(60):
            a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        events = {a.event(), a.event()}
        self.assertEqual(events, {e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL})
        self.assertEqual(a.state().qp_state, e.IBV_QPS_ERR)

    def test_an_access_that_is_refused_is_reported_on_both_sides(self):
        a, b = self.pair()
        a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey ^ 0x1000)
        self.must(a, e.IBV_WC_REM_ACCESS_ERR)
        self.assertEqual(b.event(), e.IBV_EVENT_QP_ACCESS_ERR)
        for end in (a, b):
            self.assertEqual(end.state().qp_state, e.IBV_QPS_ERR)

    def test_a_packet_in_rtr_raises_comm_est(self):
        a, b = self.end(), self.end()
        a.connect(b)
        index = b.gid_index()
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = REMOTE
        b.qp.to_init(attributes)
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.max_dest_rd_atomic = 1
        attributes.min_rnr_timer = 12
        attributes.dest_qp_num = a.qp.qp_num
        attributes.rq_psn = 7
        route = GlobalRoute(dgid=b.context.query_gid(1, index), sgid_index=index)
        attributes.ah_attr = AHAttr(port_num=1, is_global=True, gr=route)
        b.qp.to_rtr(attributes)
        a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        self.must(a)
        self.assertEqual(b.event(), e.IBV_EVENT_COMM_EST)


class Draining(OwnTest):
    def test_started_requests_complete_in_sqd(self):
        a, b = self.pair()
        a.post(e.IBV_WR_SEND)  # b has no receive: the send is outstanding until b posts one
        until = time.monotonic() + TIMEOUT_S
        a.drain()
        self.assertEqual(a.state().qp_state, e.IBV_QPS_SQD)
        while not a.state().sq_draining and time.monotonic() < until:
            time.sleep(0.001)
        self.assertEqual(a.state().sq_draining, 1)
        a.post(e.IBV_WR_SEND)  # starts after the drain
        b.receive()
        self.must(a)
        self.assertEqual(a.event(), e.IBV_EVENT_SQ_DRAINED)
        self.assertEqual(a.state().sq_draining, 0)
        b.receive()
        time.sleep(0.05)
        self.assertEqual(a.cq.poll(1)[0], 0)
        a.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
        self.must(a)
        self.must(b)
        self.must(b)

    def test_an_empty_send_queue_drains_at_once(self):
        a, _ = self.pair()
        a.drain()
        self.assertEqual(a.event(), e.IBV_EVENT_SQ_DRAINED)
        self.assertEqual(a.state().sq_draining, 0)


class Limits(OwnTest):
    def test_reads_beyond_max_rd_atomic_wait(self):
        a, b = connected(self.end(), self.end(), reads=1, reads_of_peer=1)
        a.post_reads(40, 8, b.mr.buf, b.mr.rkey)
        for _ in range(40):
            self.must(a)

    def test_reads_beyond_max_dest_rd_atomic_are_refused(self):
        a, b = self.end(), self.end()
        a.connect(b, reads=16)
        b.connect(a, reads_of_peer=1)
        # Pages in the memory first: a response to absent pages would be requested again, and after
        # the refusal the responder sends no responses.
        a.post(e.IBV_WR_RDMA_READ, 0, 4096, b.mr.buf, b.mr.rkey)
        self.must(a)
        a.post_reads(40, 4096, b.mr.buf, b.mr.rkey)
        statuses = [a.wait().status for _ in range(40)]
        self.assertIn(e.IBV_WC_REM_INV_REQ_ERR, statuses)
        first = statuses.index(e.IBV_WC_REM_INV_REQ_ERR)
        self.assertEqual(set(statuses[:first]) - {e.IBV_WC_SUCCESS}, set())
        self.assertEqual(set(statuses[first + 1:]) - {e.IBV_WC_WR_FLUSH_ERR}, set())

    def test_refuses_reads_and_atomics_that_the_queue_pair_does_not_allow(self):
        for opcode, atomic in ((e.IBV_WR_RDMA_READ, {}),
                               (e.IBV_WR_ATOMIC_FETCH_AND_ADD, {"compare_add": 1, "swap": 0})):
            a, b = connected(self.end(), self.end(), qp_access=e.IBV_ACCESS_REMOTE_WRITE)
            a.post(opcode, 0, 8, b.mr.buf, b.mr.rkey, **atomic)
            self.must(a, e.IBV_WC_REM_INV_REQ_ERR)

    def test_posting_to_a_full_queue_fails(self):
        a, b = self.pair()
        with self.assertRaises(PyverbsRDMAError) as refused:
            for _ in range(1000):  # b has no receive, so no send completes
                a.post(e.IBV_WR_SEND)
        self.assertEqual(refused.exception.error_code, errno.ENOMEM)


class Changes(OwnTest):
    def test_a_completion_queue_is_resized_in_use(self):
        a, b = connected(self.end(cq_depth=32), self.end())
        for _ in range(20):
            a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        self.must(a)
        a.cq.resize(500)
        for _ in range(40):
            a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        for _ in range(59):
            self.must(a)
        a.cq.resize(1)
        a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        self.must(a)

    def test_refuses_to_shrink_a_cq_below_its_completions(self):
        a, b = self.pair()
        for _ in range(10):
            a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        b.receive()
        a.post(e.IBV_WR_SEND)
        self.must(b)  # so all requests have started
        a.drain()
        self.assertEqual(a.event(), e.IBV_EVENT_SQ_DRAINED)  # and all have ended
        with self.assertRaises(PyverbsRDMAError):
            a.cq.resize(5)
        for _ in range(11):
            self.must(a)

    def test_access_rights_are_revoked_under_traffic(self):
        a, b = self.pair()
        for _ in range(30):
            a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, b.mr.rkey)
        old_key = b.mr.rkey
        b.mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, access=e.IBV_ACCESS_LOCAL_WRITE)
        a.post(e.IBV_WR_RDMA_WRITE, 0, 8, b.mr.buf, old_key)
        statuses = [a.wait().status for _ in range(31)]
        self.assertIn(e.IBV_WC_REM_ACCESS_ERR, statuses)
        self.assertNotEqual(statuses[-1], e.IBV_WC_SUCCESS)


class Pages(OwnTest):
    def test_pages_that_were_never_touched_cost_no_rnr_retries(self):
        pages = 64
        a, b = connected(self.end(), self.end(), rnr_retry=0)
        area = mmap.mmap(-1, pages * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        mr = MR(b.pd, len(area), ACCESS, address=start)
        self.addCleanup(mr.close)
        for page in range(pages):
            a.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, start + page * mmap.PAGESIZE, mr.rkey,
                   compare_add=1, swap=0)
            self.must(a)


class SharedReceives(OwnTest):
    def test_srq_buffers_belong_to_the_domain_of_the_srq(self):
        a, b = self.end(), self.end()
        other = PD(b.context)
        mr = MR(other, 4096, ACCESS)
        srq = SRQ(other, SrqInitAttr(SrqAttr(max_wr=16, max_sge=1)))
        for thing in (other, mr, srq):
            self.addCleanup(thing.close)
        b.qp.close()
        own, b.srq = b.srq, srq
        b.qp, b.srq = b.make_qp(), own
        self.addCleanup(b.qp.close)
        connected(a, b)
        for sge in (SGE(mr.buf, 8, mr.lkey), b.sge(0, 8)):
            srq.post_recv(RecvWR(num_sge=1, sg=[sge]))
        a.post(e.IBV_WR_SEND)
        self.must(a)
        self.must(b)
        a.post(e.IBV_WR_SEND)
        self.must(a, e.IBV_WC_REM_OP_ERR)
        self.must(b, e.IBV_WC_LOC_PROT_ERR)


class Imports(OwnTest):
    def test_refuses_to_import_a_file_that_is_no_device(self):
        file = os.memfd_create("none")
        with self.assertRaises(PyverbsRDMAError):
            Context(cmd_fd=file)

    def test_refuses_to_import_objects_that_do_not_exist(self):
        context = Context(name=DEVICE)
        with self.assertRaises(PyverbsRDMAError):
            PD(context, handle=123456)
        pd = PD(context)
        with self.assertRaises(PyverbsRDMAError):
            MR(pd, handle=123456)
        pd.close()
        context.close()


if __name__ == "__main__":
    unittest.main()
